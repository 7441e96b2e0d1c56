import { randomInt } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { Agent, request } from 'node:http'
import type Koa from 'koa'
import {
  Column,
  type DataSource,
  Entity,
  Index,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  ViewColumn,
  ViewEntity,
  VirtualColumn,
} from 'typeorm'
import { lockSqlite, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { Person } from '../support/person'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** SQL that makes the database sleep for some seconds. */
const sleep = (seconds: number): string =>
  isPostgres ? `(SELECT 1 FROM pg_sleep(${seconds}))` : `(SELECT SLEEP(${seconds}))`

/** Longer than a test can take. */
const nap = isSqlite ? '(SELECT 1)' : sleep(300)

@Entity()
@Resource({ auth: permitAll })
class Sleeper {
  @PrimaryGeneratedColumn() id!: number
  @VirtualColumn({ type: 'int', query: () => `SELECT ${nap}` }) nap!: number
}

/** Texts that take long to compare with a pattern. */
@Entity()
@Resource({ auth: permitAll })
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'text' }) text!: string
  @VirtualColumn({ type: 'int', query: (alias) => `LENGTH(REPLACE(${alias}.text, 'lorem', ''))` }) spaces!: number
}

@Entity()
@Resource({ auth: permitAll })
class Remark {
  @PrimaryGeneratedColumn() id!: number
  @Index()
  @ManyToOne(() => Page, { nullable: false })
  page!: Relation<Page>
}

@Entity()
@Resource({ auth: permitAll })
class League {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany('Club', 'league') clubs!: Relation<Club>[]
}

/** Its virtual column reads many people for each record. */
@Entity()
@Resource({ auth: permitAll, bulk: true, formats: true })
class Club {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 0 }) rank!: number
  @VirtualColumn({
    type: 'int',
    query: (alias) => `SELECT COUNT(*) FROM "person" "member" WHERE "member"."id" <> ${alias}."id"`,
  })
  members!: number
  @VirtualColumn({
    type: 'int',
    query: (alias) => `COALESCE((SELECT COUNT(*) FROM "person" "guest" WHERE "guest"."id" > ${alias}."id"), 0)`,
  })
  guests!: number
  @Index()
  @ManyToOne(() => League, 'clubs', { nullable: false })
  league!: Relation<League>
}

@ViewEntity({
  expression: `SELECT "club"."id" AS "id", (SELECT COUNT(*) FROM "person" WHERE "person"."id" <> "club"."id") AS "members" FROM "club" "club"`,
})
@Resource({ auth: permitAll })
class ClubSize {
  @ViewColumn()
  @PrimaryColumn()
  id!: number
  @ViewColumn()
  @Column('int')
  members!: number
}

@Entity()
@Resource({ auth: permitAll })
class Match {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 0 }) rank!: number
  @Index()
  @ManyToOne(() => Club, { nullable: false })
  club!: Relation<Club>
  @ManyToOne(() => ClubSize, { createForeignKeyConstraints: false })
  size!: Relation<ClubSize>
}

/** Text of the last page. Unlike those of the other pages, it fits into a token. */
const shortText = 'lorem'

async function seed(dataSource: DataSource): Promise<void> {
  await dataSource.getRepository(Sleeper).insert({})
  const numbers = Array.from({ length: isSqlite ? 2000 : 3 }, (_, index) => index + 1)
  await insertRows(
    dataSource,
    Person,
    numbers.map((id) => ({ id, name: 'p' })),
  )
  if (!isSqlite) return
  const pages = dataSource.hasMetadata(Page) ? 40 : 0
  for (let id = 1; id <= pages; id++) await dataSource.getRepository(Page).insert({ id, text: 'lorem '.repeat(50_000) })
  if (pages > 0) {
    await dataSource.getRepository(Page).insert({ id: pages + 1, text: shortText })
    const remarks = numbers.map((id) => ({ id, page: { id: 1 + (id % pages) } }))
    const onShortText = [1, 2].map((number) => ({ id: numbers.length + number, page: { id: pages + 1 } }))
    await insertRows(dataSource, Remark, [...remarks, ...onShortText])
  }
  if (dataSource.hasMetadata(Club)) {
    await dataSource.getRepository(League).insert([{ id: 1 }, { id: 2 }])
    await insertRows(
      dataSource,
      Club,
      numbers.map((id) => ({ id, league: { id: 1 + (id % 2) } })),
    )
    await insertRows(
      dataSource,
      Match,
      numbers.map((id) => ({ id, rank: id, club: { id }, size: { id } })),
    )
  }
  await dataSource.query(
    'INSERT INTO person_friends_person SELECT a.id, b.id FROM person a JOIN person b ON b.id % 40 = a.id % 40',
  )
}

/** Path of a list whose statement takes longer than the time limit. */
const slow = isSqlite ? 'person/?friends__friends__friends__friends__name__ne=z' : 'sleeper/'

describe('a time limit', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities: [Sleeper, Person, Page, Remark, ...(isSqlite ? [League, Club, Match, ClubSize] : [])],
      seed,
      mount: { statementTimeout: isSqlite ? 5 : 300 },
    })
  })
  afterAll(() => world.close())
  const { get, post, ids } = apiOf(() => world.url)

  test('ends a statement in the database, and the response is 503', async () => {
    const reply = await get(slow)
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '1'])
    expect(reply.json()).toMatchObject({ detail: expect.stringContaining('exceeded its time limit') })
    expect(world.faults).toMatchObject([{ name: 'DatabaseError' }])
    expect(await ids('person/?id__lte=2')).toEqual([1, 2])
  })

  if (isSqlite)
    test.each([
      'page/?text__ilike=%25x%25',
      'page/?or=(text__ilike:%25x%25,id:0)',
      'remark/?page__text__ilike=%25x%25',
      'remark/?page__text__ilike=%25x%25&id__lte=900',
      'remark/?not=(page__text__ilike:%25x%25)',
      // SQLite reads the pages first, and no remark, because no page matches.
      'remark/?page__text__ilike=%25x%25&page__id__gt=0&ordering=page__id',
      'remark/?page__text=x',
      'page/?spaces=-1',
      'page/?or=(spaces:-1,id:0)',
      'page/?ordering=-spaces&limit=1&fields=id',
      'remark/?page__spaces=-1',
      'remark/?ordering=page__spaces&limit=1',
      // Only selected.
      'page/?limit=1000&fields=spaces',
      'remark/?limit=1000&include=page(fields:spaces)',
    ])('ends comparisons and computations with long texts: %s', async (path) => {
      expect((await get(path)).status).toBe(503)
    })

  if (isSqlite)
    test.each([
      'page/?ordering=text&limit=1000',
      'page/?ordering=-text&limit=1000&after=',
      'remark/?ordering=page__text&limit=1',
      'remark/?ordering=-page__text&limit=1&after=',
      'remark/?ordering=page__text__nullslast&count=exact',
    ])('ends sorting by long texts: %s', async (path) => {
      expect((await get(path)).status).toBe(503)
    })

  if (isSqlite)
    test.each(['page__text', '-page__text'])('ends comparisons of long texts with a cursor: %s', async (ordering) => {
      const list = `remark/?ordering=${ordering}&limit=1`
      let first = await get(`${list}&after=&id__gt=2000`)
      // On a busy machine, sqlite3 may not finish even this statement within the time limit.
      while (first.status === 503) first = await get(`${list}&after=&id__gt=2000`)
      const token = /after=([\w-]+)/.exec(first.text)?.[1]
      expect((await get(`${list}&after=${token}`)).status).toBe(503)
    })

  if (isSqlite)
    test.each([
      'GET club/?limit=1000',
      'GET club/?members=-1',
      'GET club/?members=-1&fields=id&limit=1',
      'GET club/?guests=-1&fields=id&limit=1',
      'GET club/?not=(members__gt:0)',
      'GET club/?members__gt=5000&count=exact&limit=0',
      'GET club/?ordering=-members&limit=1',
      'GET club/?ordering=members&limit=1&after=',
      'GET club/?format=ndjson&members=-1',
      'DELETE club/?members=-1',
      'GET club/?ordering=-rank&limit=1000&page=2',
      'GET league/?include=clubs(limit:1000)',
      'GET league/1/?include=clubs(limit:1000)',
      'GET match/?include=club&ordering=-rank&limit=1000',
      'GET match/?include=size&ordering=-rank&limit=1',
      'GET match/?size__members=-1',
      'GET match/?club__members=-1',
      'GET match/?ordering=club__members&limit=1',
      'GET match/?ordering=-club__members&limit=1&after=',
      'GET clubsize/?members=-1',
      'GET clubsize/?ordering=-members&limit=1',
    ])('ends the computation of virtual and view columns: %s', async (line) => {
      expect((await send(world.url, line.replace(' ', ' /api/'))).status).toBe(503)
    })

  test('does not depend on the statements that ran before on the connection', async () => {
    for (let round = 0; round < 3; round++) {
      expect((await post('person', { name: 'new' })).status).toBe(201)
      await world.dataSource.transaction((manager) => manager.insert(Person, { name: 'other' }))
      expect((await get(slow)).status).toBe(503)
    }
  })

  if (!isSqlite)
    test("does not apply to the application's own statements", async () => {
      for (let round = 0; round < 8; round++) {
        expect(await ids('person/?id=1')).toEqual([1])
        await world.dataSource.query(`SELECT ${sleep(0.5)}`)
      }
    })
})

if (isSqlite)
  test('applies to each statement from its own start, however many requests arrive at once', async () => {
    const statementTimeout = 1000
    const world = await openWorld({ entities: [Sleeper, Person], seed, mount: { statementTimeout, waitLimit: 60_000 } })
    const get = (agent?: Agent): ReturnType<typeof send> =>
      send(world.url, 'GET /api/person/?friends__name__ne=z&limit=1', { agent })
    await get()
    const durations: number[] = []
    for (let round = 0; round < 3; round++) {
      const start = performance.now()
      await get()
      durations.push(performance.now() - start)
    }
    // Together they take three times as long as the limit.
    const count = Math.min(100, Math.ceil((3 * statementTimeout) / Math.min(...durations)))
    const agent = new Agent({ keepAlive: true })
    // On open connections, so that all requests arrive in one turn of the event loop.
    await Promise.all(Array.from({ length: count }, () => send(world.url, 'GET /api/sleeper/', { agent })))
    const statuses = async (): Promise<number[]> =>
      (await Promise.all(Array.from({ length: count }, () => get(agent)))).map(({ status }) => status)
    // On a busy machine, some statements may exceed the limit. If it counted from the arrival, two thirds would, each time.
    const refused = (all: readonly number[]): number => all.filter((status) => status === 503).length
    let received = await statuses()
    for (let round = 0; round < 3 && refused(received) >= count / 3; round++) received = await statuses()
    expect(received.filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(refused(received)).toBeLessThan(count / 3)
    agent.destroy()
    await world.close()
    expect(world.faults.filter((fault) => !String(fault).includes('took longer than'))).toEqual([])
  })

if (isSqlite)
  test('applies if the application has installed the lock before the mount', async () => {
    const world = await openWorld({
      entities: [Sleeper, Person],
      seed: async (dataSource) => {
        lockSqlite(dataSource)
        await seed(dataSource)
      },
      mount: { statementTimeout: 5 },
    })
    expect((await send(world.url, `GET /api/${slow}`)).status).toBe(503)
    await world.close()
  })

test('statementTimeout: 0 sets no time limit', async () => {
  const world = await openWorld({ entities: [Sleeper, Person], seed, mount: { statementTimeout: 0 } })
  const reply = isSqlite ? await send(world.url, `GET /api/${slow}`) : undefined
  const [setting] = isPostgres ? await world.sql('SHOW statement_timeout') : []
  expect([reply?.status ?? 200, setting?.['statement_timeout'] ?? '0']).toEqual([200, '0'])
  await world.close()
})

const trustProxy = (app: Koa): void => {
  app.proxy = true
}

/** Headers of a request of one of four clients: a single one can use only half of the connections. */
const addressOf = (index: number): Record<string, string> => ({ 'X-Forwarded-For': `192.0.2.${1 + (index % 4)}` })

/** SQL that reads the running statements. */
const running = isMariadb
  ? "SELECT info AS text FROM information_schema.processlist WHERE info LIKE '%SLEEP(300)%' AND info NOT LIKE '%processlist%' AND db = DATABASE()"
  : "SELECT query AS text FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(300)%' AND query NOT LIKE '%activity%' AND query LIKE '%' || current_schema() || '%'"

if (!isSqlite)
  test.each([
    ['of a list', 'application/json', 3],
    // Its clients share one statement.
    ['of the first read of a live list', 'text/event-stream', 1],
  ])(
    'a statement %s is cancelled when its clients disconnect, and the next statement on its connection is not',
    async (_, Accept, count) => {
      const mount = { statementTimeout: 0, live: true }
      const world = await openWorld({ entities: [Sleeper, Person], seed, mount, before: trustProxy })
      const { hostname, port } = new URL(world.url)
      // More clients than connections: some wait for a connection.
      const clients = Array.from({ length: 12 }, (_unused, index) => {
        const headers = { Accept, ...addressOf(index) }
        const outgoing = request({ hostname, port, path: '/api/sleeper/', headers, agent: false })
        outgoing.on('error', () => undefined)
        outgoing.end()
        return outgoing
      })
      const own = (): Promise<readonly unknown[]> => runningStatements(world)
      while ((await own()).length < count) await new Promise((resolve) => setTimeout(resolve, 20))
      for (const client of clients) client.destroy()
      const others = Array.from({ length: 20 }, () => send(world.url, 'GET /api/person/?id=1'))
      expect((await Promise.all(others)).map(({ status }) => status)).toEqual(others.map(() => 200))
      while ((await own()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
      expect(world.faults).toEqual([])
      await world.close()
    },
  )

if (!isSqlite)
  test('clients that disconnect at any moment leave the connections unchanged', async () => {
    const mount = { statementTimeout: 300 }
    const world = await openWorld({ entities: [Sleeper, Person], seed, mount, before: trustProxy })
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
    // Uses all connections: first with the time limit of the service, then without.
    const slowOnes = Array.from({ length: 8 }, (_, index) =>
      send(world.url, `GET /api/${slow}`, { headers: addressOf(index) }),
    )
    expect((await Promise.all(slowOnes)).map(({ status }) => status)).toEqual(slowOnes.map(() => 503))
    const others = Array.from({ length: 8 }, () => world.dataSource.query(`SELECT ${sleep(0.5)} AS "slept"`))
    await Promise.all(others)
    expect((await send(world.url, 'GET /api/person/')).status).toBe(200)
    expect(world.faults.filter((fault) => (fault as Error).name !== 'DatabaseError')).toEqual([])
    await world.close()
  })

if (isMariadb)
  test('a shorter time limit of the server is kept', async () => {
    const world = await openWorld({ entities: [Sleeper, Person], seed })
    const { pool } = world.dataSource.driver as unknown as { pool: EventEmitter }
    pool.on('connection', (connection: { readonly query: (sql: string) => void }) => {
      connection.query('SET max_statement_time = 0.2')
    })
    const start = performance.now()
    // Connections that were opened before do not have the limit of the server.
    const replies = Array.from({ length: 5 }, () => send(world.url, `GET /api/${slow}`))
    expect(await Promise.any(replies.map(async (reply) => (await reply).status))).toBe(503)
    // The limit of the service is ten seconds.
    expect(performance.now() - start).toBeLessThan(5000)
    await world.close()
  })

let observer: World | undefined
afterAll(() => observer?.close())

/** Reads the running statements on a connection of another pool, since all connections of the world are in use. */
async function runningStatements(world: World): Promise<readonly unknown[]> {
  observer ??= await openWorld({ entities: [Person], seed: async () => {}, mountOn: () => ({ resources: [] }) })
  const { schema, database } = world.dataSource.options as { readonly schema?: string; readonly database?: string }
  const name = schema ?? database ?? ''
  return observer.sql(running.replace('current_schema()', `'${name}'`).replace('DATABASE()', `'${databaseOf(world)}'`))
}

function databaseOf({ dataSource }: World): string {
  return String(dataSource.driver.database)
}
