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
import { anonymous, Resource, type Rule, UserAccount } from 'typeorm-resources'
import { sleep } from './time'

/** Lets everybody do everything: no login takes a connection. */
const open: Rule = () => anonymous

/** Its tag is the client's own, so that what was asked for can be told from what is stored. Written by one statement. */
@Entity()
@Resource({ auth: open })
export class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60, unique: true }) tag!: string
  @Column({ default: 0 }) score!: number
}

/** As a note, with a subscriber: written in a transaction with it. */
@Entity()
@Resource({ auth: open })
export class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60, unique: true }) tag!: string
  @Column({ default: 0 }) score!: number
}

/** How long the subscriber is at work on a memo that is tagged `slow`, in milliseconds. */
export const slowness = 400

/** Takes its time, and does not want what is tagged `veto`: half of it before it is written, half of it after. */
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
    await sleep(entity.tag === 'slow' ? slowness : Math.random() * 4)
    if (entity.tag.startsWith('veto-after')) throw new Error('no such memo, please')
  }
}

/** What the entries are counted by. */
@Entity()
export class Counter {
  @PrimaryColumn() id!: number
  @Column({ default: 0 }) value!: number
}

/** Counted twice, one half of them in the other order than the other half: what databases resolve by a deadlock. */
@Entity()
@Resource({ auth: open })
export class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60, unique: true }) tag!: string
  /** The counters, as `1,2`. */
  @Column({ length: 20 }) counters!: string
}

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

/** Nobody may write it. */
@Entity()
@Resource()
export class Season {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

/** A password costs nothing here: what is measured is not its hash. */
@Entity()
@UserAccount({ hash: (plain) => plain, verify: (plain, stored) => plain === stored })
export class Account {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40, unique: true }) username!: string
  @Column() password!: string
}

/** Belongs to somebody. Written by one statement. */
@Entity()
@Resource({ ownerField: 'owner' })
export class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) title!: string
  @ManyToOne(() => Account, { nullable: false }) owner!: Account
}

/** Belongs to somebody, with a subscriber: written in a transaction with it. */
@Entity()
@Resource({ ownerField: 'owner' })
export class Sheet {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) title!: string
  @ManyToOne(() => Account, { nullable: false }) owner!: Account
}

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
