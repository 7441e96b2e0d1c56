import { randomInt } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { Agent, request } from 'node:http'
import {
  Column,
  type DataSource,
  Entity,
  JoinTable,
  ManyToMany,
  PrimaryGeneratedColumn,
  type Relation,
  VirtualColumn,
} from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Seconds for which the database sleeps, in SQL. */
const sleep = (seconds: number): string =>
  isPostgres ? `(SELECT 1 FROM pg_sleep(${seconds}))` : `(SELECT SLEEP(${seconds}))`

const nap = isSqlite ? '(SELECT 1)' : sleep(20)

@Entity()
@Resource({ auth: () => anonymous })
class Sleeper {
  @PrimaryGeneratedColumn() id!: number
  @VirtualColumn({ type: 'int', query: () => `SELECT ${nap}` }) nap!: number
}

@Entity()
@Resource({ auth: () => anonymous })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToMany(() => Person)
  @JoinTable({ joinColumn: { name: 'one' }, inverseJoinColumn: { name: 'other' } })
  friends!: Relation<Person>[]
}

async function seed(dataSource: DataSource): Promise<void> {
  await dataSource.getRepository(Sleeper).insert({})
  const numbers = Array.from({ length: isSqlite ? 2000 : 3 }, (_, index) => index + 1)
  const rows = numbers.map((id) => ({ id, name: 'p' }))
  for (let first = 0; first < rows.length; first += 400) {
    const some = rows.slice(first, first + 400)
    await dataSource.createQueryBuilder().insert().into(Person).values(some).updateEntity(false).execute()
  }
  if (!isSqlite) return
  await dataSource.query(
    'INSERT INTO person_friends_person SELECT a.id, b.id FROM person a JOIN person b ON b.id % 40 = a.id % 40',
  )
}

/** A list whose statement takes longer than its time limit. */
const slow = isSqlite ? 'person/?friends__friends__friends__friends__name__ne=z' : 'sleeper/'

describe('a time limit', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({ entities: [Sleeper, Person], seed, mount: { statementTimeout: isSqlite ? 5 : 300 } })
  })
  afterAll(() => world.close())
  const { get, post, ids } = apiOf(() => world.url)

  test('ends a statement in the database, with 503', async () => {
    const reply = await get(slow)
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '1'])
    expect(reply.json()).toMatchObject({ detail: expect.stringContaining('exceeded its time limit') })
    expect(world.faults).toMatchObject([{ name: 'DatabaseError' }])
    expect(await ids('person/?id__lte=2')).toEqual([1, 2])
  })

  test('does not depend on what ran before on the connection', async () => {
    for (let round = 0; round < 3; round++) {
      expect((await post('person', { name: 'new' })).status).toBe(201)
      await world.dataSource.transaction((manager) => manager.insert(Person, { name: 'other' }))
      expect((await get(slow)).status).toBe(503)
    }
  })

  if (!isSqlite)
    test("leaves the application's own statements alone", async () => {
      for (let round = 0; round < 8; round++) {
        expect(await ids('person/?id=1')).toEqual([1])
        await world.dataSource.query(`SELECT ${sleep(0.5)}`)
      }
    })
})

if (isSqlite)
  test('a statement has its own time, however many requests arrive at once', async () => {
    const statementTimeout = 400
    const world = await openWorld({ entities: [Sleeper, Person], seed, mount: { statementTimeout } })
    const get = (agent?: Agent): ReturnType<typeof send> =>
      send(world.url, 'GET /api/person/?friends__name__ne=z&limit=1', { agent })
    await get()
    const start = performance.now()
    expect((await get()).status).toBe(200)
    // Together they take three times as long as one may.
    const count = Math.min(100, Math.ceil((3 * statementTimeout) / (performance.now() - start)))
    const agent = new Agent({ keepAlive: true })
    // Connections that are open already deliver their requests in one turn of the event loop.
    await Promise.all(Array.from({ length: count }, () => send(world.url, 'GET /api/sleeper/', { agent })))
    const replies = await Promise.all(Array.from({ length: count }, () => get(agent)))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    agent.destroy()
    await world.close()
    expect(world.faults).toEqual([])
  }, 20_000)

test('none is set with 0', async () => {
  const world = await openWorld({ entities: [Sleeper, Person], seed, mount: { statementTimeout: 0 } })
  const reply = isSqlite ? await send(world.url, `GET /api/${slow}`) : undefined
  const [setting] = isPostgres ? await world.sql('SHOW statement_timeout') : []
  expect([reply?.status ?? 200, setting?.['statement_timeout'] ?? '0']).toEqual([200, '0'])
  await world.close()
})

/** Statements that the database is running. */
const running = isMariadb
  ? "SELECT info AS text FROM information_schema.processlist WHERE info LIKE '%SLEEP(20)%' AND info NOT LIKE '%processlist%' AND db = DATABASE()"
  : "SELECT query AS text FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(20)%' AND query NOT LIKE '%activity%' AND query LIKE '%' || current_schema() || '%'"

if (!isSqlite)
  test('a statement ends when its client has gone, and the next statement on its connection does not', async () => {
    const world = await openWorld({ entities: [Sleeper, Person], seed, mount: { statementTimeout: 0 } })
    const { hostname, port } = new URL(world.url)
    // More than there are connections: some wait for one.
    const clients = Array.from({ length: 12 }, () => {
      const outgoing = request({ hostname, port, path: '/api/sleeper/', agent: false })
      outgoing.on('error', () => undefined)
      outgoing.end()
      return outgoing
    })
    const own = (): Promise<readonly unknown[]> => countOn(world)
    while ((await own()).length < 3) await new Promise((resolve) => setTimeout(resolve, 20))
    for (const client of clients) client.destroy()
    const others = Array.from({ length: 20 }, () => send(world.url, 'GET /api/person/?id=1'))
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(others.map(() => 200))
    // Long before they would end by themselves.
    while ((await own()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(world.faults).toEqual([])
    await world.close()
  }, 15_000)

if (!isSqlite)
  test('clients that leave at any moment leave connections as they were', async () => {
    const world = await openWorld({ entities: [Sleeper, Person], seed, mount: { statementTimeout: 300 } })
    const { hostname, port } = new URL(world.url)
    for (let round = 0; round < 40; round++) {
      const clients = Array.from({ length: 8 }, () => {
        const outgoing = request({ hostname, port, path: '/api/person/', agent: false })
        outgoing.on('error', () => undefined)
        outgoing.end()
        return outgoing
      })
      for (const client of clients) setTimeout(() => client.destroy(), randomInt(6))
      await new Promise((resolve) => setTimeout(resolve, 6))
    }
    // On each connection, or nearly: first under the time limit of this service, then under none.
    const slowOnes = Array.from({ length: 8 }, () => send(world.url, `GET /api/${slow}`))
    expect((await Promise.all(slowOnes)).map(({ status }) => status)).toEqual(slowOnes.map(() => 503))
    const others = Array.from({ length: 8 }, () => world.dataSource.query(`SELECT ${sleep(0.5)} AS "slept"`))
    await Promise.all(others)
    expect((await send(world.url, 'GET /api/person/')).status).toBe(200)
    expect(world.faults.filter((fault) => (fault as Error).name !== 'DatabaseError')).toEqual([])
    await world.close()
  }, 30_000)

if (isMariadb)
  test('a shorter limit of the server stays', async () => {
    const world = await openWorld({ entities: [Sleeper, Person], seed })
    const { pool } = world.dataSource.driver as unknown as { pool: EventEmitter }
    pool.on('connection', (connection: { readonly query: (sql: string) => void }) => {
      connection.query('SET max_statement_time = 0.2')
    })
    const start = performance.now()
    // The connections that were made before have no limit of their own.
    const replies = Array.from({ length: 5 }, () => send(world.url, `GET /api/${slow}`))
    expect(await Promise.any(replies.map(async (reply) => (await reply).status))).toBe(503)
    // The service's own limit is ten seconds.
    expect(performance.now() - start).toBeLessThan(5000)
    await world.close()
  }, 20_000)

let observer: World | undefined
afterAll(() => observer?.close())

/** Counts on connections of another pool, since those of the world are all in use. */
async function countOn(world: World): Promise<readonly unknown[]> {
  observer ??= await openWorld({ entities: [Person], seed: async () => {}, mountOn: () => ({ resources: [] }) })
  const { schema, database } = world.dataSource.options as { readonly schema?: string; readonly database?: string }
  const name = schema ?? database ?? ''
  return observer.sql(running.replace('current_schema()', `'${name}'`).replace('DATABASE()', `'${databaseOf(world)}'`))
}

function databaseOf({ dataSource }: World): string {
  return String(dataSource.driver.database)
}
