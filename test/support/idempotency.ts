import 'reflect-metadata'
import {
  Column,
  DeleteDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  type UpdateEvent,
} from 'typeorm'
import {
  ApiKeys,
  anonymous,
  IdempotencyKey,
  type Principal,
  problem,
  Resource,
  type Rule,
  UserAccount,
} from 'typeorm-resources'
import { unhashed } from './unhashed'

export interface Person extends Principal {
  team: string
  manager: boolean
}

/** The people who send requests, by the header `x-as`. Tests change their teams and roles. */
export const people: Record<string, Person> = {}
export function resetPeople(): void {
  Object.assign(people, {
    ann: { id: 1, team: 'red', manager: true },
    bob: { id: 2, team: 'red', manager: false },
    text: { id: '1', team: 'red', manager: true },
  })
}

const byHeader: Rule = ({ context }) => {
  const name = context.get('x-as')
  return name === '' ? anonymous : (people[name] ?? null)
}
const personOf = (principal: Principal): Person => principal as Person

/** A resource whose records belong to teams. Only managers see the price. */
@Entity()
@Resource({
  auth: byHeader,
  bulk: true,
  scope: (me) => (me.id === null ? true : { team: personOf(me).team }),
  fields: { price: { read: (me) => personOf(me).manager === true, write: true } },
  exclude: ['secret'],
})
export class Ticket {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ default: 'red' }) team!: string
  @Column({ default: 0 }) price!: number
  @Column({ default: 'canary' }) secret!: string
  @Column({ type: 'varchar', length: 20, unique: true, nullable: true }) code!: string | null
  @ManyToOne(
    () => Ticket,
    (ticket) => ticket.parts,
    { nullable: true, onDelete: 'CASCADE' },
  )
  parent!: Relation<Ticket> | null
  @OneToMany(
    () => Ticket,
    (ticket) => ticket.parent,
  )
  parts!: Relation<Ticket>[]
}

/** A resource without a row scope, whose records are written with one statement. */
@Entity()
@Resource({ auth: byHeader, may: { restore: true } })
export class Plain {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 2000 }) title!: string
  @Column({ type: 'varchar', length: 20, unique: true, nullable: true }) code!: string | null
  @Column({ default: 0 }) score!: number
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@UserAccount(unhashed)
@Resource({ auth: byHeader, exclude: ['password'] })
export class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
}

@Entity()
@ApiKeys()
@Resource({ auth: byHeader, preset: () => ({ user_id: 1 }) })
export class Token {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 20 }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => Member, { nullable: false }) user!: Relation<Member>
}

/** Calls of the ticket subscriber: `insert <title>`, `update <title>`. */
export const subscriberCalls: string[] = []
/** Behavior of the ticket subscriber, which tests set. */
export const behavior: {
  /** Promise that it awaits after the INSERT of a ticket. */
  wait: Promise<unknown> | undefined
  /** Function that it then calls. */
  run: ((event: InsertEvent<Ticket>) => unknown) | undefined
  /** Function that it calls after each commit. */
  afterCommit: (() => unknown) | undefined
} = {
  wait: undefined,
  run: undefined,
  afterCommit: undefined,
}

@EventSubscriber()
export class TicketSubscriber implements EntitySubscriberInterface<Ticket> {
  listenTo(): typeof Ticket {
    return Ticket
  }

  async afterInsert(event: InsertEvent<Ticket>): Promise<void> {
    subscriberCalls.push(`insert ${event.entity.title}`)
    await behavior.wait
    await behavior.run?.(event)
    if (event.entity.title === 'refused') throw problem(409, 'not today')
  }

  async afterTransactionCommit(): Promise<void> {
    await behavior.afterCommit?.()
  }

  afterUpdate({ entity }: UpdateEvent<Ticket>): void {
    subscriberCalls.push(`update ${entity?.['title']}`)
  }
}

export const entities = [Ticket, Plain, Member, Token]
export const keyed = [...entities, IdempotencyKey]
export const subscribers = [TicketSubscriber]
