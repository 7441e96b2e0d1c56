import { permitAll } from '../support/access'
import { unhashed } from '../support/unhashed'
import 'reflect-metadata'
import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type UpdateEvent,
} from 'typeorm'
import { Resource, UserAccount } from 'typeorm-resources'
import { sleep } from './time'

/** Permits every request without a login, so that no statement reads the user. */

/** Has a unique tag that the client chooses, by which requests and stored rows are compared. Written with one statement. */
@Entity()
@Resource({ auth: permitAll })
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

export const entities = [Note, Memo, Counter, Entry, Season, Account, Page, Sheet]
export const subscribers = [MemoSubscriber, EntrySubscriber, SheetSubscriber]
