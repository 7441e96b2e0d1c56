import { permitAll } from '../support/access'
import { unhashed } from '../support/unhashed'
import 'reflect-metadata'
import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  Index,
  type InsertEvent,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type UpdateEvent,
} from 'typeorm'
import { IdempotencyKey, type Principal, Resource, type Rule, UserAccount } from 'typeorm-resources'
import { sleep } from './time'

/** Permits every request without a login, so that no statement reads the user. */

/** Has a unique tag that the client chooses, by which requests and stored rows are compared. Written with one statement. */
@Entity()
@Resource({ auth: permitAll, formats: true })
export class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60, unique: true }) tag!: string
  @Column({ default: 0 }) score!: number
}

/** As `Note`, with a subscriber: its writes are in a transaction with the subscriber's. */
@Entity()
@Resource({ auth: permitAll })
export class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60, unique: true }) tag!: string
  @Column({ default: 0 }) score!: number
}

/** Duration of the subscriber for a memo that is tagged `slow`, in milliseconds. */
export const slowSubscriberMs = 400

/** Awaits something, and throws for memos that are tagged `veto`: for half of them before the write, for half after it. */
@EventSubscriber()
export class MemoSubscriber implements EntitySubscriberInterface<Memo> {
  listenTo(): typeof Memo {
    return Memo
  }

  async beforeInsert({ entity }: InsertEvent<Memo>): Promise<void> {
    await sleep(Math.random() * 4)
    if (entity.tag.startsWith('veto-before')) throw new Error('no such memo, please')
  }

  async afterInsert({ entity }: InsertEvent<Memo>): Promise<void> {
    await sleep(entity.tag === 'slow' ? slowSubscriberMs : Math.random() * 4)
    if (entity.tag.startsWith('veto-after')) throw new Error('no such memo, please')
  }
}

/** Has a tag that is not unique, and a subscriber: a request that is executed twice makes two records. */
@Entity()
@Resource({ auth: permitAll })
export class Receipt {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) tag!: string
}

/** Keeps transactions open for a moment. */
@EventSubscriber()
export class ReceiptSubscriber implements EntitySubscriberInterface<Receipt> {
  listenTo(): typeof Receipt {
    return Receipt
  }

  async afterInsert(_: InsertEvent<Receipt>): Promise<void> {
    await sleep(Math.random() * 10)
  }
}

/** Counts the entries. */
@Entity()
export class Counter {
  @PrimaryColumn() id!: number
  @Column({ default: 0 }) value!: number
}

/** Increments counters in the order that the client gives. Opposite orders cause deadlocks. */
@Entity()
@Resource({ auth: permitAll })
export class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60, unique: true }) tag!: string
  /** The ids of the counters: `1,2`. */
  @Column({ length: 20 }) counters!: string
}

/** Increments the counters of a new entry. */
@EventSubscriber()
export class EntrySubscriber implements EntitySubscriberInterface<Entry> {
  listenTo(): typeof Entry {
    return Entry
  }

  async afterInsert({ entity, manager }: InsertEvent<Entry>): Promise<void> {
    for (const id of entity.counters.split(',')) {
      await manager.increment(Counter, { id: Number(id) }, 'value', 1)
      await sleep(10)
    }
  }
}

/** Cannot be written. */
@Entity()
@Resource()
export class Season {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

/** Its password is not hashed, to save time. */
@Entity()
@UserAccount(unhashed)
export class Account {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40, unique: true }) username!: string
  @Column() password!: string
}

/** Has an owner. Written with one statement. */
@Entity()
@Resource({ ownerField: 'owner' })
export class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) title!: string
  @ManyToOne(() => Account, { nullable: false }) owner!: Account
}

/** Has an owner and a subscriber: its writes are in a transaction with the subscriber's. */
@Entity()
@Resource({ ownerField: 'owner' })
export class Sheet {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) title!: string
  @ManyToOne(() => Account, { nullable: false }) owner!: Account
}

/** Lets sheets be written in a transaction. */
@EventSubscriber()
export class SheetSubscriber implements EntitySubscriberInterface<Sheet> {
  listenTo(): typeof Sheet {
    return Sheet
  }

  async beforeUpdate(_: UpdateEvent<Sheet>): Promise<void> {
    await sleep(Math.random() * 2)
  }
}

/** One of many records that are written by one request. */
abstract class Packed {
  @PrimaryGeneratedColumn() id!: number
  /** The records of one request. */
  @Index() @Column() pack!: number
  @Column() part!: number
  @Column({ default: 0 }) state!: number
  @Column({ length: 60, unique: true }) tag!: string
}

/** Many of them are written by few statements. */
@Entity()
@Resource({ auth: permitAll, bulk: true })
export class Item extends Packed {}

/** As `Item`, with a subscriber: many of them are written in a transaction with the subscriber's work, and changed one by one. */
@Entity()
@Resource({ auth: permitAll, bulk: true })
export class Parcel extends Packed {}

/** What the subscriber of parcels does after a write of a parcel whose tag ends with `-hold`. */
export const parcelHold = { wait: async (): Promise<void> => {} }

interface ParcelEvent {
  readonly entity?: object | undefined
  readonly databaseEntity?: object | undefined
}

/** Waits, or throws, after the write of a parcel whose tag says so. */
@EventSubscriber()
export class ParcelSubscriber implements EntitySubscriberInterface<Parcel> {
  afterInsert = actOnParcel
  afterUpdate = actOnParcel
  afterRemove = actOnParcel

  listenTo(): typeof Parcel {
    return Parcel
  }
}

async function actOnParcel({ entity, databaseEntity }: ParcelEvent): Promise<void> {
  const { tag } = (entity ?? databaseEntity) as Parcel
  if (tag.endsWith('-hold')) await parcelHold.wait()
  if (tag.endsWith('-throw')) throw new Error('no such parcel, please')
}

/** The user whom the header `X-User` names: `ann:red` is ann of the team red, and `root` sees all teams. */
const byHeader: Rule = ({ context }) => {
  const [id, team] = context.get('X-User').split(':')
  return id ? ({ id, team } as Principal) : null
}

/** Has cards, which are deleted with it. */
@Entity()
@Resource({ auth: byHeader })
export class Deck {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) shelf!: string
}

/** Is visible to its team. */
@Entity()
@Resource({
  auth: byHeader,
  bulk: true,
  scope: (principal) => {
    const { team } = principal as { team?: string }
    return team === undefined ? true : { team }
  },
})
export class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) team!: string
  @Column({ length: 20 }) state!: string
  @Column() version!: number
  @ManyToOne(() => Deck, { onDelete: 'CASCADE', nullable: false }) deck!: Deck
}

export const entities = [
  Note,
  Memo,
  Receipt,
  Counter,
  Entry,
  Season,
  Account,
  Page,
  Sheet,
  Item,
  Parcel,
  Deck,
  Card,
  IdempotencyKey,
]
export const subscribers = [MemoSubscriber, ReceiptSubscriber, EntrySubscriber, SheetSubscriber, ParcelSubscriber]
