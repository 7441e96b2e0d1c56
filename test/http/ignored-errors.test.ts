import {
  Column,
  Entity,
  type EntityManager,
  type EntitySubscriberInterface,
  EventSubscriber,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  type TransactionCommitEvent,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * Listeners that ignore the error of a statement. After a deadlock, MySQL and MariaDB have rolled back the whole transaction; after any
 * error, PostgreSQL rolls it back at the COMMIT, without an error. A response must not acknowledge what was rolled back.
 */

@Entity()
class Account {
  @PrimaryColumn() id!: number
  @Column({ default: 0 }) amount!: number
}

@Entity()
@Resource({ auth: permitAll, nested: ['bookings'] })
class Journal {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @OneToMany(
    () => Booking,
    (booking) => booking.journal,
  )
  bookings!: Relation<Booking>[]
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Booking {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) text!: string
  /** The ids of the accounts to which the subscriber adds, in this order. */
  @Column({ length: 20 }) accounts!: string
  @Column({ default: 0 }) turn!: number
  @ManyToOne(
    () => Journal,
    (journal) => journal.bookings,
  )
  journal!: Relation<Journal> | null
}

interface BookingEvent {
  readonly entity?: unknown
  readonly databaseEntity?: unknown
  readonly manager: EntityManager
}

let ignored = 0
/** Whether the subscriber runs a statement before the COMMIT, which fails. */
let failsBeforeCommit = false

/** Adds to accounts after each write, and ignores errors. */
@EventSubscriber()
class CarelessBooker implements EntitySubscriberInterface<Booking> {
  listenTo = () => Booking
  afterInsert = addToAccounts
  afterUpdate = addToAccounts
  afterRemove = addToAccounts

  async beforeTransactionCommit({ manager }: TransactionCommitEvent): Promise<void> {
    if (failsBeforeCommit) await add(manager, 0).catch(() => void ignored++)
  }
}

/** Adds to an account. Without such an account it fails: with -1, in a nested transaction. */
async function add(manager: EntityManager, id: number): Promise<unknown> {
  if (id > 0) return manager.increment(Account, { id }, 'amount', 1)
  const fail = (own: EntityManager): Promise<unknown> => own.insert(Account, { id: 1 })
  return id === -1 ? manager.transaction(fail) : fail(manager)
}

async function addToAccounts({ entity, databaseEntity, manager }: BookingEvent): Promise<void> {
  const { accounts } = (entity ?? databaseEntity) as Booking
  for (const id of accounts.split(',').filter(Boolean).map(Number)) {
    const adding = add(manager, id)
    await adding.catch(() => void ignored++)
    await new Promise((wake) => setTimeout(wake, 5))
  }
}

const deadlockTimeout = '-c deadlock_timeout=30ms'

let world: World
beforeAll(async () => {
  const extra = isPostgres ? { poolSize: 10, extra: { options: deadlockTimeout } } : {}
  world = await openWorld({
    entities: [Account, Journal, Booking],
    source: { subscribers: [CarelessBooker], ...extra } as object,
  })
})
afterAll(() => world.close())

/** One of several requests that are sent at the same time. */
interface Attempt {
  readonly text: string
  readonly accounts: string
  /** The booking that the request changes or deletes. */
  readonly id: number
}

const ndjson = { 'Content-Type': 'application/x-ndjson' }
const changed = { turn: 1 }

/** Kinds of requests. */
const writes: readonly {
  readonly what: string
  readonly action: 'create' | 'change' | 'delete'
  readonly line: (attempt: Attempt) => string
  readonly body?: (attempt: Attempt) => unknown
  readonly headers?: Readonly<Record<string, string>>
}[] = [
  { what: 'POST', action: 'create', line: () => 'POST /api/booking/', body: bookingOf },
  { what: 'POST of an array', action: 'create', line: () => 'POST /api/booking/', body: (one) => [bookingOf(one)] },
  {
    what: 'an import',
    action: 'create',
    line: () => 'POST /api/booking/',
    body: (one) => JSON.stringify(bookingOf(one)),
    headers: ndjson,
  },
  { what: 'an upsert', action: 'create', line: () => 'POST /api/booking/?on_conflict=text', body: bookingOf },
  {
    what: 'POST with nested records',
    action: 'create',
    line: () => 'POST /api/journal/',
    body: (one) => ({ title: 'new', bookings: [bookingOf(one)] }),
  },
  { what: 'PATCH', action: 'change', line: ({ id }) => `PATCH /api/booking/${id}/`, body: () => changed },
  { what: 'PATCH by filter', action: 'change', line: ({ id }) => `PATCH /api/booking/?id=${id}`, body: () => changed },
  { what: 'DELETE', action: 'delete', line: ({ id }) => `DELETE /api/booking/${id}/` },
  { what: 'DELETE by filter', action: 'delete', line: ({ id }) => `DELETE /api/booking/?id=${id}` },
]

function bookingOf({ text, accounts }: Attempt): object {
  return { text, accounts }
}

/** Sends requests at the same time. @returns which of them are acknowledged, and which have written */
async function sendAll({ action, line, body, headers }: (typeof writes)[number], accounts: readonly string[]) {
  const { manager } = world.dataSource
  // Without listeners.
  for (const table of ['booking', 'account']) await world.sql(`DELETE FROM "${table}"`)
  await manager.insert(Account, [{ id: 1 }, { id: 2 }])
  const bookings = accounts.map((list, index) => ({ text: `b${index}`, accounts: list }))
  if (action !== 'create') {
    await manager.createQueryBuilder().insert().into(Booking).values(bookings).callListeners(false).execute()
  }
  const ids = new Map((await manager.find(Booking)).map(({ text, id }) => [text, id]))
  const attempts = bookings.map((booking) => ({ ...booking, id: ids.get(booking.text) ?? 0 }))
  ignored = 0
  const replies = await Promise.all(attempts.map((one) => send(world.url, line(one), { body: body?.(one), headers })))
  const stored = new Map((await manager.find(Booking)).map(({ text, turn }) => [text, turn]))
  const isWritten = (text: string): boolean =>
    action === 'delete' ? !stored.has(text) : action === 'create' ? stored.has(text) : stored.get(text) === 1
  return {
    replies,
    acknowledged: replies.map(({ status }) => status < 300),
    written: attempts.map(({ text }) => isWritten(text)),
    amounts: (await manager.find(Account, { order: { id: 'ASC' } })).map(({ amount }) => amount),
  }
}

// SQLite has one transaction at a time, and no deadlocks.
const describeOnServers = isSqlite ? () => undefined : describe

describeOnServers(
  'of requests in a deadlock that a listener ignores, exactly the acknowledged ones have written',
  () => {
    // Imports run one at a time in a process.
    test.each(writes.filter(({ headers }) => headers !== ndjson))('$what', async (write) => {
      const opposite = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? '1,2' : '2,1'))
      const { replies, acknowledged, written, amounts } = await sendAll(write, opposite)
      // Otherwise the test would check nothing.
      expect(ignored).toBeGreaterThan(0)
      expect(written).toEqual(acknowledged)
      const count = written.filter(Boolean).length
      expect(amounts).toEqual([count, count])
      expect(replies.filter(({ status }) => status >= 300 && status !== 503).map(({ text }) => text)).toEqual([])
      expect(count).toBeGreaterThan(0)
    })
  },
)

describe('a request with a statement that violates a constraint, which a listener ignores, is acknowledged if it has written', () => {
  test.each(writes)('$what', async (write) => {
    const { acknowledged, written } = await sendAll(write, ['0'])
    expect(ignored).toBeGreaterThan(0)
    expect(written).toEqual(acknowledged)
    // PostgreSQL executes no statement after an error.
    expect(acknowledged).toEqual([!isPostgres])
  })
})

test('an error in a nested transaction of a listener, which it ignores, undoes that transaction only', async () => {
  const { acknowledged, written } = await sendAll(writes[0] as (typeof writes)[number], ['-1'])
  expect([ignored, acknowledged, written]).toEqual([1, [true], [true]])
})

test('an error before the COMMIT, which a subscriber ignores, does not acknowledge what is rolled back', async () => {
  failsBeforeCommit = true
  const { acknowledged, written } = await sendAll(writes[0] as (typeof writes)[number], [''])
  failsBeforeCommit = false
  expect(ignored).toBeGreaterThan(0)
  expect([acknowledged, written]).toEqual([[!isPostgres], [!isPostgres]])
})
