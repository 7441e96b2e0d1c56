import {
  Column,
  type DataSource,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World, type WorldOptions } from '../world/world'

/** Transactions of batches: conflicts with others, and constraints that are checked at the commit. */

/** A number that batches change, which locks its row until their end. */
@Entity()
@Resource({ auth: permitAll })
class Account {
  @PrimaryColumn() id!: number
  @Column({ default: 0 }) amount!: number
}

/** Adds to an account when it is inserted, by a statement of a subscriber. */
@Entity()
@Resource({ auth: permitAll })
class Booking {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) text!: string
  @Column() account!: number
}

/** Has a constraint that PostgreSQL checks at the commit. */
@Entity()
@Resource({ auth: permitAll })
class Step {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Step, { deferrable: 'INITIALLY DEFERRED' }) next!: Relation<Step> | null
}

/** Has a unique value that PostgreSQL parses. */
@Entity()
@Resource({ auth: permitAll })
class Plan {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'interval', unique: true }) code!: string
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Visit {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, default: '' }) title!: string
  @ManyToOne(() => Plan) @JoinColumn({ referencedColumnName: 'code' }) plan!: Relation<Plan> | null
  @ManyToOne(() => Plan) other!: Relation<Plan> | null
}

/** Listeners that have ignored the error of a statement. */
let ignored = 0

@EventSubscriber()
class Booker implements EntitySubscriberInterface<Booking> {
  listenTo = () => Booking
  async afterInsert({ entity, manager }: InsertEvent<Booking>): Promise<void> {
    const { text, account } = entity
    const adding = manager.increment(Account, { id: account }, 'amount', 1)
    // A listener that ignores the error of a deadlock.
    if (text.startsWith('careless')) await adding.catch(() => void ignored++)
    else await adding
  }
}

const seed = async ({ manager }: DataSource): Promise<void> => {
  await manager.insert(Account, [{ id: 1 }, { id: 2 }])
}

const open = (options: WorldOptions = {}): Promise<World> =>
  openWorld({
    entities: [Account, Booking, ...(isPostgres ? [Step, Plan, Visit] : [])],
    seed,
    mount: { batch: true },
    ...options,
    source: { subscribers: [Booker], ...options.source },
  })

const batch = ({ url }: World, operations: unknown): Promise<Reply> =>
  send(url, 'POST /api/-/batch', { body: operations })
const book = (text: string, account: number) => ({ method: 'POST', path: '/api/booking/', body: { text, account } })

const amounts = async ({ sql }: World): Promise<readonly unknown[]> =>
  (await sql('SELECT "amount" FROM "account" ORDER BY "id"')).map(({ amount }) => amount)
const texts = async ({ sql }: World): Promise<readonly unknown[]> =>
  (await sql('SELECT "text" FROM "booking" ORDER BY "id"')).map(({ text }) => text)

/** Sends batches that lock two rows in opposite orders, and checks that each is written completely or not at all. */
async function sendInConflict(world: World, prefix: string): Promise<readonly Reply[]> {
  const operations = (index: number) =>
    (index % 2 === 0 ? [1, 2] : [2, 1]).map((account) => book(`${prefix}${index}`, account))
  const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => batch(world, operations(index))))
  const written = replies.flatMap(({ status }, index) => (status === 200 ? [`${prefix}${index}`] : []))
  const stored = await texts(world)
  expect(stored.toSorted()).toEqual(written.flatMap((text) => [text, text]).toSorted())
  expect(await amounts(world)).toEqual([written.length, written.length])
  return replies
}

/** Options of a data source with some connections, and with these settings of PostgreSQL. */
const connections = (settings: string): WorldOptions =>
  isPostgres ? { source: { poolSize: 10, extra: { options: settings } } as object } : {}

describe('Batches: of 20 batches in conflict, each is written completely, or responds with 503 and writes nothing', () => {
  let world: World
  beforeEach(async () => {
    world = await open(connections('-c deadlock_timeout=50ms'))
  })
  afterEach(() => world.close())

  test.each([
    ['', 'fail'],
    ['careless ', 'ignore errors'],
  ])('%sif listeners %s', async (prefix) => {
    ignored = 0
    const replies = await sendInConflict(world, prefix)
    const refused = replies.filter(({ status }) => status !== 200)
    expect(refused.filter(({ status, text }) => status !== 503 || text.includes('index'))).toEqual([])
    expect(refused.length).toBeLessThan(20)
    // Otherwise the test would check nothing.
    if (!isSqlite && prefix !== '') expect(ignored).toBeGreaterThan(0)
  })
})

/** Begins a transaction of the application, which changes an account. */
async function lockAccount({ dataSource }: World, id: number, first?: string) {
  const runner = dataSource.createQueryRunner()
  await runner.startTransaction()
  if (first !== undefined) await runner.query(first)
  await runner.manager.increment(Account, { id }, 'amount', 10)
  const waiting = isPostgres
    ? // Not `pg_stat_activity`, whose contents are cached until the end of the transaction.
      'SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))'
    : // Not the tables of lock waits: their contents are cached until nobody has read them for 100 ms.
      `SELECT 1 FROM information_schema.processlist
       WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command IN ('Query', 'Execute') AND time_ms > 200`
  return {
    runner,
    /** Waits until another transaction waits for this one. */
    isWaitedFor: async (): Promise<void> => {
      while ((await runner.query(waiting)).length === 0) await new Promise((wake) => setTimeout(wake, 50))
    },
    commit: async (): Promise<void> => {
      await runner.commitTransaction()
      await runner.release()
    },
  }
}

const onServers = (name: string, run: () => Promise<void>): void => {
  if (!isSqlite) test(name, run)
}
const onPostgres = (name: string, run: () => Promise<void>): void => {
  if (isPostgres) test(name, run)
}

onServers('Batches: a batch that a deadlock has ended runs once more, as a whole', async () => {
  // PostgreSQL ends the transaction that looks for a deadlock first, once after this time; MariaDB the one that has
  // changed fewer rows.
  const world = await open(connections('-c deadlock_timeout=2s'))
  const survive = isPostgres
    ? "SET LOCAL deadlock_timeout = '1min'"
    : `INSERT INTO account (id, amount) VALUES ${Array.from({ length: 20 }, (_, index) => `(${index + 10}, 0)`)}`
  const other = await lockAccount(world, 2, survive)
  world.statements()
  const replying = batch(world, [book('one', 1), book('two', 2)])
  await other.isWaitedFor()
  await other.runner.manager.increment(Account, { id: 1 }, 'amount', 10)
  await other.commit()
  const reply = await replying
  expect(reply.status).toBe(200)
  expect(world.statements().filter((sql) => /INSERT INTO .*booking/.test(sql))).toHaveLength(4)
  expect(await texts(world)).toEqual(['one', 'two'])
  expect((await amounts(world)).slice(0, 2)).toEqual([11, 11])
  expect(world.faults).toEqual([])
  await world.close()
})

onPostgres('Batches: a batch with a serialization failure runs once more, as a whole', async () => {
  const world = await open(connections('-c default_transaction_isolation=repeatable\\ read'))
  const other = await lockAccount(world, 2)
  const replying = batch(world, [book('one', 1), { method: 'PUT', path: '/api/account/2/', body: { amount: 5 } }])
  await other.isWaitedFor()
  await other.commit()
  expect((await replying).status).toBe(200)
  expect([await texts(world), await amounts(world)]).toEqual([['one'], [1, 5]])
  await world.close()
})

onServers('Batches: the checks of a record see what others have committed since the batch began', async () => {
  const world = await open(connections(''))
  const other = await lockAccount(world, 2)
  const replying = batch(world, [book('one', 1), book('two', 2), { method: 'PUT', path: '/api/account/2/', body: {} }])
  await other.isWaitedFor()
  await other.commit()
  const reply = await replying
  expect(reply.json()).toMatchObject({ results: [{}, {}, { body: { id: 2, amount: 11 } }] })
  await world.close()
})

onPostgres('Batches: a deferred constraint may be violated until the commit', async () => {
  const world = await open()
  const step = (id: number, next: number) => ({ method: 'POST', path: '/api/step/', body: { id, next_id: next } })
  expect((await batch(world, [step(1, 2), step(2, 1)])).status).toBe(200)
  const refused = await batch(world, [book('one', 1), step(3, 4)])
  expect([refused.status, refused.json()]).toEqual([
    409,
    {
      type: 'urn:typeorm-resources:conflict',
      title: 'In conflict with other records',
      status: 409,
      detail: 'the database does not accept these operations together; nothing was written',
    },
  ])
  expect([await texts(world), await amounts(world)]).toEqual([[], [0, 0]])
  expect(await world.sql('SELECT "id" FROM "step"')).toHaveLength(2)
  await world.close()
})

onPostgres('Batches: a value that the database cannot read does not make the statements after it fail', async () => {
  const world = await open()
  const results: unknown[] = []
  for (const operation of [
    { method: 'POST', path: '/api/visit/', body: { plan_id: 'PYMD', other_id: 5 } },
    { method: 'PATCH', path: '/api/visit/?plan=PYMD', body: { title: 'x' } },
  ]) {
    const reply = await batch(world, [book('one', 1), operation])
    const { index, errors, detail } = reply.json() as { index: number; errors?: unknown; detail: string }
    results.push([reply.status, index, errors ?? detail])
  }
  expect(results).toEqual([
    [400, 1, ['plan_id', 'other_id'].map((field) => ({ field, message: 'points to no plan' }))],
    [400, 1, 'the database cannot read the value of a filter'],
  ])
  expect([await texts(world), world.faults]).toEqual([[], []])
  await world.close()
})
