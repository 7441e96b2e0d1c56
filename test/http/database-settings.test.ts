import {
  BeforeInsert,
  Column,
  DataSource,
  type DataSourceOptions,
  Entity,
  EventSubscriber,
  type InsertEvent,
  type LoadEvent,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { anonymous, type MountOptions, mountResources, type Principal, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** The mount option `databaseSettings`, with policies of row level security on PostgreSQL. */

@Entity()
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @Column() company!: number
}

@Entity()
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column() company!: number
  @ManyToOne(() => Project) project!: Relation<Project> | null
}

/** An entity with listeners, whose statements run in transactions. */
@Entity()
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @Column() company!: number
  @Column({ default: 0 }) seen!: number

  @BeforeInsert() refuse(): void {
    if (this.text === 'veto') throw new Error('vetoed')
  }
}

/** Counts the visible projects with statements of its own. */
@EventSubscriber()
class Counter {
  listenTo = (): unknown => Entry
  async beforeInsert({ entity, manager }: InsertEvent<Entry>): Promise<void> {
    entity.seen = await manager.count(Project)
  }
  async afterInsert({ entity, manager }: InsertEvent<Entry>): Promise<void> {
    if (entity.text === 'late veto') {
      await manager.insert(Entry, { text: 'written by the listener', company: entity.company })
      throw new Error('vetoed')
    }
  }
  async afterLoad(entity: Entry, event?: LoadEvent<Entry>): Promise<void> {
    entity.text = `${entity.text} of ${await event?.manager.count(Project)}`
  }
}

const entities = [Project, Task, Entry]

/** The company of the principal is in a header. */
const auth: Rule = ({ context }) => {
  const company = Number(context.get('x-company'))
  return company === 0 ? anonymous : ({ id: company * 10, company } as Principal)
}

const settingsOf = (me: Principal) => ({ 'app.company': 'company' in me ? String(me.company) : '' })

const resources = entities.map((entity) => ({ entity, auth }))

/** SQL of the company of the principal. After a transaction, a setting that it has set is an empty text. */
const own = `NULLIF(current_setting('app.company', true), '')::int`

interface Policed {
  readonly world: World
  /** The data source of the service, which connects as a role to which the policies apply. */
  readonly restricted: DataSource
}

/** Opens a site with policies: records belong to companies 1 and 2, and a company sees and writes its own. */
async function openPoliced(
  mount: MountOptions = {},
  { max = 4, source = () => ({}) }: { max?: number; source?: (own: object) => object } = {},
): Promise<Policed> {
  let restricted: DataSource | undefined
  const world = await openWorld({
    entities,
    seed: async (owner) => {
      for (const name of ['Atlas', 'Boreas', 'Ceres', 'Delos'])
        await owner.manager.insert(Project, { name, company: name < 'C' ? 1 : 2 })
      const projects = await owner.manager.find(Project, { order: { name: 'ASC' } })
      for (const project of projects)
        await owner.manager.insert(Task, { title: `of ${project.name}`, company: project.company, project })
      for (const company of [1, 2]) await owner.manager.insert(Entry, { text: 'first', company })
      const [{ schema }] = await owner.query('SELECT current_schema() AS schema')
      for (const sql of [
        ...['project', 'task', 'entry'].flatMap((table) => [
          `ALTER TABLE "${table}" ENABLE ROW LEVEL SECURITY`,
          `CREATE POLICY own ON "${table}" USING (company = ${own}) WITH CHECK (company = ${own})`,
        ]),
        `GRANT USAGE ON SCHEMA ${schema} TO pg_monitor`,
        `GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO pg_monitor`,
        `GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO pg_monitor`,
      ])
        await owner.query(sql)
      const { extra, ...options } = owner.options as { extra: { options: string } } & DataSourceOptions
      const limited = { extra: { options: `${extra.options} -c role=pg_monitor`, max } }
      restricted = await new DataSource({
        ...options,
        ...limited,
        ...source(limited),
        synchronize: false,
        subscribers: [Counter],
      } as DataSourceOptions).initialize()
    },
    mountOn: (app) =>
      mountResources(app, restricted as DataSource, { resources, databaseSettings: settingsOf, ...mount }),
  })
  if (restricted === undefined) throw new Error('the seed has not run')
  return { world, restricted }
}

async function close({ world, restricted }: Policed): Promise<void> {
  await restricted.destroy()
  await world.close()
}

function requester({ world }: Policed) {
  return (company: number, line: string, body?: unknown): Promise<Reply> =>
    send(world.url, line.replace(' ', ' /api/'), {
      headers: company === 0 ? {} : { 'x-company': String(company) },
      body,
    })
}

interface List {
  readonly meta: { readonly next: string; readonly total?: number }
  readonly objects: readonly { readonly id: number; readonly title: string; readonly text: string }[]
}
const listOf = (reply: Reply): List => reply.json() as List
const titlesIn = (reply: Reply): readonly string[] => listOf(reply).objects.map(({ title }) => title)

/** Titles of the tasks that each company sees; anonymous requests see none. */
const titles = [[], ['of Atlas', 'of Boreas'], ['of Ceres', 'of Delos']]

const forbidden = (name: string) => ({
  type: 'urn:typeorm-resources:forbidden',
  title: 'Not permitted',
  status: 403,
  detail: `a policy of the database does not permit this ${name}`,
})

if (!isPostgres)
  test('Database settings: other databases than PostgreSQL are a mistake at mount', async () => {
    const world = await openWorld({ entities, mountOn: () => ({ resources: [] }) })
    const { dataSource, app } = world
    expect(() => mountResources(app, dataSource, { resources, databaseSettings: settingsOf })).toThrow(
      `"databaseSettings" requires PostgreSQL with the package pg, not ${dataSource.options.type}`,
    )
    await world.close()
  })

test.each([['x'], [{}], [true]])('Checks at mount: databaseSettings %j is a mistake', async (value) => {
  const world = await openWorld({ entities, mountOn: () => ({ resources: [] }) })
  const mount = (): unknown => mountResources(world.app, world.dataSource, { databaseSettings: value as never })
  expect(mount).toThrow(`"databaseSettings" must be a function that returns the settings of a principal, not`)
  await world.close()
})

/** Runs tests on PostgreSQL only. */
const onPostgres = (name: string, tests: () => void): void => {
  if (isPostgres) describe(name, tests)
}

onPostgres('Database settings', () => {
  let site: Policed
  let as: ReturnType<typeof requester>
  beforeAll(async () => {
    site = await openPoliced()
    as = requester(site)
  })
  afterAll(async () => {
    await close(site)
    expect(site.world.faults).toEqual([])
  })
  const tasks = () => site.world.sql('SELECT "id", "title", "company" FROM "task" ORDER BY "id"')
  const idOf = async (title: string): Promise<unknown> =>
    (await site.world.sql(`SELECT "id" FROM "task" WHERE "title" = '${title}'`))[0]?.['id']

  test.each([0, 1, 2])('policies apply to lists, counts and pages of company %d', async (company) => {
    const visible = titles[company] ?? []
    expect(titlesIn(await as(company, 'GET task/?ordering=title'))).toEqual(visible)
    expect(titlesIn(await as(company, 'GET task/?ordering=title&project__name__like=%25e%25'))).toEqual(
      visible.filter((title) => /of.*e/.test(title)),
    )
    for (const count of ['count=exact&limit=0', 'count=capped&limit=1', 'count=exact&title__like=of%25&limit=0']) {
      expect(listOf(await as(company, `GET task/?${count}`)).meta.total).toBe(visible.length)
    }
    const byCursor: string[] = []
    for (let next = 'task/?ordering=title&after=&limit=1'; next !== ''; ) {
      const page = await as(company, `GET ${next}`)
      byCursor.push(...titlesIn(page))
      next = listOf(page).meta.next.replace('/api/', '')
    }
    expect(byCursor).toEqual(visible)
    // A statement that is not prepared under a name.
    const ids = Array.from({ length: 400 }, (_, index) => index).join()
    expect(titlesIn(await as(company, `GET task/?ordering=title&id__in=${ids}`))).toEqual(visible)
  })

  test('policies apply to items', async () => {
    const id = await idOf('of Atlas')
    const statuses = [0, 1, 2].flatMap((company) =>
      ['GET', 'HEAD'].map(async (method) => (await as(company, `${method} task/${id}/`)).status),
    )
    expect(await Promise.all(statuses)).toEqual([404, 404, 200, 200, 404, 404])
  })

  test('a record that a policy does not permit is refused, and nothing is written', async () => {
    const before = await tasks()
    const own = await idOf('of Atlas')
    const refused = [
      await as(1, 'POST task/', { title: 'new', company: 2 }),
      await as(1, `PUT task/${own}/`, { company: 2 }),
      await as(1, `PATCH task/${own}/`, { company: 2, title: 'moved' }),
    ]
    for (const reply of refused) expect([reply.status, reply.json()]).toEqual([403, forbidden('task')])
    const inTransaction = await as(1, 'POST entry/', { text: 'new', company: 2 })
    expect([inTransaction.status, inTransaction.json()]).toEqual([403, forbidden('entry')])
    const anonymously = await as(0, 'POST task/', { title: 'new', company: 2 })
    expect([anonymously.status, anonymously.text]).toEqual([401, 'Authentication failed'])
    const foreign = await idOf('of Ceres')
    expect((await as(1, `PUT task/${foreign}/`, { title: 'taken' })).status).toBe(404)
    expect((await as(1, `DELETE task/${foreign}/`)).status).toBe(404)
    expect(await tasks()).toEqual(before)
  })

  test('a permitted record is written', async () => {
    const posted = await as(2, 'POST task/', { title: 'of Eos', company: 2 })
    const { id } = posted.json() as { id: number }
    expect([posted.status, (await as(2, `PUT task/${id}/`, { title: 'of Eros' })).status]).toEqual([201, 200])
    expect(titlesIn(await as(2, 'GET task/?id__gte=1&ordering=-title&limit=1'))).toEqual(['of Eros'])
    expect((await as(2, `DELETE task/${id}/`)).status).toBe(204)
    expect(await idOf('of Eros')).toBeUndefined()
  })

  test('a foreign key to a record that the policies hide is refused like one to a missing record', async () => {
    const [{ id } = {}] = await site.world.sql(`SELECT "id" FROM "project" WHERE "name" = 'Ceres'`)
    const hidden = await as(1, 'POST task/', { title: 'new', company: 1, project_id: id })
    const missing = await as(1, 'POST task/', { title: 'new', company: 1, project_id: 999_999 })
    expect([hidden.status, hidden.json()]).toEqual([400, missing.json()])
  })

  test('statements of listeners have the settings', async () => {
    const posted = await as(1, 'POST entry/', { text: 'second', company: 1 })
    expect([posted.status, posted.json()]).toMatchObject([201, { seen: 2, text: 'second of 2' }])
    const { id } = posted.json() as { id: number }
    expect((await as(1, `GET entry/${id}/`)).json()).toMatchObject({ text: 'second of 2' })
    expect(listOf(await as(2, 'GET entry/')).objects).toMatchObject([{ text: 'first of 2' }])
    await site.world.sql(`DELETE FROM "entry" WHERE "id" = ${id}`)
  })

  test('a statement whose table has changed since it was prepared has the settings', async () => {
    for (const length of [300, 400]) {
      await site.world.sql(`ALTER TABLE "task" ALTER COLUMN "title" TYPE varchar(${length})`)
      for (const company of [1, 2, 0]) {
        expect(titlesIn(await as(company, 'GET task/?ordering=title'))).toEqual(titles[company])
      }
    }
  })
})

/** Requests of a company with their statuses: reads, refusals of several stages, and writes that are rolled back. */
const traffic = (company: number): readonly (readonly [line: string, status: number, body?: unknown])[] => [
  ['GET task/?ordering=title', 200],
  ['GET task/?count=exact&title__like=o%25', 200],
  ['POST task/', 403, { title: 'x', company: 3 - company }],
  ['GET task/?title__lik=x', 400],
  ['GET task/999999/', 404],
  ['GET entry/', 200],
  ['POST entry/', 403, { text: 'x', company: 3 - company }],
  ['POST entry/', 500, { text: 'veto', company }],
  ['POST entry/', 500, { text: 'late veto', company }],
  ['POST task/', 400, { title: 'x', company, project_id: 999_999 }],
  ['PUT task/999999/', 404, { title: 'x' }],
]

onPostgres('Database settings of concurrent requests', () => {
  test.each([1, 4])('do not affect other requests, with %d connections', async (max) => {
    const site = await openPoliced({}, { max })
    const as = requester(site)
    const rounds = Array.from({ length: 4 }, async () => {
      const requests = [1, 2, 0].flatMap((company) =>
        traffic(company).map(async ([line, status, body]) => {
          const reply = await as(company, line, body)
          if (company > 0) expect([line, reply.status]).toEqual([line, status])
          if (status === 200 && line.includes('task')) expect(titlesIn(reply).toSorted()).toEqual(titles[company])
          if (line === 'GET entry/') expect(listOf(reply).objects).toHaveLength(company === 0 ? 0 : 1)
        }),
      )
      await Promise.all(requests)
    })
    await Promise.all(rounds)
    const runners = Array.from({ length: max }, () => site.restricted.createQueryRunner())
    const left = await Promise.all(
      runners.map((runner) => runner.query(`SELECT current_setting('app.company', true) AS company`)),
    )
    expect(left.flat().filter(({ company }) => company !== '' && company !== null)).toEqual([])
    await Promise.all(runners.map((runner) => runner.release()))
    expect(await site.world.sql(`SELECT COUNT(*)::int AS "n" FROM "entry"`)).toEqual([{ n: 2 }])
    await close(site)
  })

  test('apply to reads on replicas', async () => {
    const url = process.env['TEST_POSTGRES_RUN_URL'] ?? ''
    const site = await openPoliced({}, { source: () => ({ replication: { master: { url }, slaves: [{ url }] } }) })
    const as = requester(site)
    for (const company of [1, 2, 0]) {
      expect(titlesIn(await as(company, 'GET task/?ordering=title'))).toEqual(titles[company])
    }
    await close(site)
  })

  test('apply without a time limit of statements, also to the first statement of a connection', async () => {
    const site = await openPoliced({ statementTimeout: 0 })
    const lists = [1, 2, 1, 2].map((company) => requester(site)(company, 'GET task/?ordering=title'))
    expect((await Promise.all(lists)).map(titlesIn)).toEqual([titles[1], titles[2], titles[1], titles[2]])
    await close(site)
  })
})

onPostgres('The function databaseSettings', () => {
  let site: Policed
  let result: () => unknown = () => ({})
  let calls = 0
  beforeAll(async () => {
    const databaseSettings = (me: Principal): never => {
      calls += 1
      expect(me.id).toBe(10)
      return result() as never
    }
    site = await openPoliced({ databaseSettings })
  })
  afterAll(() => close(site))

  test.each<[name: string, result: () => unknown]>([
    ['undefined', () => undefined],
    ['null', () => null],
    ['a string', () => 'app.company'],
    ['an array', () => [['app.company', '1']]],
    ['a promise', async () => ({ 'app.company': '1' })],
    ['a rejected promise', () => Promise.reject(new Error('canary'))],
    ['the value undefined', () => ({ 'app.company': undefined })],
    ['the value null', () => ({ 'app.company': null })],
    ['the value NaN', () => ({ 'app.company': Number.NaN })],
    ['an object as a value', () => ({ 'app.company': { id: 'canary' } })],
    ['a text with a null character', () => ({ 'app.company': '1\0canary' })],
    ['a name without a prefix', () => ({ role: 'postgres' })],
    ['a name with SQL', () => ({ "app.x', 'y', false), set_config('app.company": '1' })],
    ['an empty name', () => ({ '': '1' })],
  ])('that returns %s is a fault, which reveals nothing', async (_, returned) => {
    result = returned
    const reply = await requester(site)(1, 'GET task/')
    expect([reply.status, reply.json()]).toMatchObject([500, { detail: 'the server could not answer this request' }])
    const [fault] = (site.world.faults as unknown[]).splice(0)
    expect(fault).toBeInstanceOf(TypeError)
    expect(String(fault)).toMatch(/databaseSettings/)
    expect(String(fault)).not.toMatch(/canary/)
  })

  test('that throws is a fault, which reveals nothing', async () => {
    result = () => {
      throw new Error('canary')
    }
    const reply = await requester(site)(1, 'DELETE task/1/')
    expect([reply.status, reply.text.includes('canary')]).toEqual([500, false])
    expect((site.world.faults as unknown[]).splice(0)).toMatchObject([{ message: 'canary' }])
  })

  test('is called once for each request after its access rule, and not for OPTIONS', async () => {
    result = () => ({ 'app.company': 1, 'app.other': true, 'app.sub.third': 'x' })
    const as = requester(site)
    calls = 0
    expect(titlesIn(await as(1, 'GET task/?ordering=title&count=exact'))).toEqual(titles[1])
    expect(calls).toBe(1)
    expect((await as(1, 'POST task/', { title: 'x', company: 2 })).status).toBe(403)
    expect(calls).toBe(2)
    await as(1, 'OPTIONS task/')
    expect(calls).toBe(2)
  })

  test('may set nothing, and values are bind parameters', async () => {
    result = () => ({})
    expect(titlesIn(await requester(site)(1, 'GET task/'))).toEqual([])
    result = () => ({ 'app.company': '1', 'app.text': `'); DROP TABLE "task"; --$1\\` })
    expect(titlesIn(await requester(site)(1, 'GET task/?ordering=title'))).toEqual(titles[1])
  })

  test('a missing privilege of the role is a fault', async () => {
    result = () => ({ 'app.company': '1' })
    await site.world.sql('REVOKE INSERT ON "task" FROM pg_monitor')
    expect((await requester(site)(1, 'POST task/', { title: 'x', company: 1 })).status).toBe(500)
    expect((site.world.faults as unknown[]).splice(0)).toMatchObject([{ code: '42501' }])
  })
})
