import Koa from 'koa'
import { AfterLoad, Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, type MountOptions, mountResources, Resource } from 'typeorm-resources'
import { createDataProvider } from '../../src/admin/react-admin'
import { send } from '../client'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

const open = () => anonymous
const longText = isMariadb ? 'longtext' : 'text'
const KiB = 1024
const MiB = 1024 * KiB

@Entity()
@Resource({ auth: open })
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') rank!: number
  @Column({ type: longText, nullable: true }) body!: string | null
}

@Entity()
@Resource({ auth: open, paging: 'keyset' })
class Log {
  @PrimaryColumn('int') id!: number
  @Column(longText) body!: string
}

/** No token can tell where its records are. */
@Entity()
@Resource({ auth: open })
class Heard {
  @PrimaryColumn('int') id!: number
  @Column(longText) body!: string
  loaded?: boolean
  @AfterLoad() load(): void {
    this.loaded = true
  }
}

/** Its field has the name of the parameter. */
@Entity()
@Resource({ auth: open })
class Follower {
  @PrimaryColumn('int') id!: number
  @Column('int') after!: number
  @Column(longText) body!: string
}

@Entity()
@Resource({ auth: open })
class Plain {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') rank!: number
  @Column({ type: 'varchar', length: 100 }) title!: string
}

const entities = [Report, Log, Heard, Follower, Plain]

let world: World | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})
const openWith = async (limits: MountOptions['limits'] = {}): Promise<World> => {
  world = await openWorld({ entities, mount: { limits } })
  return world
}

interface Page {
  readonly meta: { readonly page: number; readonly next: string; readonly previous: string }
  readonly objects: readonly { readonly id: number; readonly body: string }[]
}
const pageOf = async (url: string, path: string): Promise<Page> => {
  const reply = await send(url, `GET ${path}`)
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.json() as Page
}
/** Every page that a link leads to. */
const walk = async (url: string, start: string, link: 'next' | 'previous' = 'next'): Promise<readonly Page[]> => {
  const pages: Page[] = []
  for (let at = start; at !== ''; ) {
    const page = await pageOf(url, at)
    pages.push(page)
    at = page.meta[link]
    if (pages.length > 200) throw new Error(`${link} does not end: ${at}`)
  }
  return pages
}
const idsOf = (pages: readonly Page[]): readonly number[] => pages.flatMap(({ objects }) => objects.map(({ id }) => id))
const count = (length: number): readonly number[] => Array.from({ length }, (_, index) => index + 1)

/** Sizes of records, in KiB, of which a page of 64 KiB has few, many, or one that is larger. */
const sizes = [1, 40, 1, 70, 1, 1, 30, 30, 30, 1, 1, 65, 64, 1, 1, 1, 20, 20, 20, 20, 1, 200, 1, 1]
const bodyOf = (kibibytes: number): string => 'x'.repeat(kibibytes * KiB - 100)
const rows = sizes.map((size, index) => ({ id: index + 1, rank: index % 3, after: index, body: bodyOf(size) }))

const fill = async ({ dataSource }: World): Promise<void> => {
  // Copies, since TypeORM writes the ids that the database has made into them.
  for (const entity of [Report, Log, Heard, Follower]) {
    await dataSource.getRepository(entity).insert(rows.map((row) => ({ ...row })))
  }
}

const starts = [
  ...['report/?', 'log/?', 'heard/?', 'follower/?', 'report/?after=&', 'report/?ordering=-rank&'],
  ...['report/?ordering=-rank&after=&', 'report/?ordering=-id&', 'heard/?ordering=-id&', 'log/?ordering=body,-id&'],
]

test.each(starts.flatMap((start) => [1, 7, 1000].map((limit) => `/api/${start}limit=${limit}`)))(
  'a page ends early that has too many bytes, and next leads to every record once: %s',
  async (start) => {
    const { url } = await (async () => {
      const opened = await openWith({ pageBytes: 64 * KiB })
      await fill(opened)
      return opened
    })()
    const pages = await walk(url, start)
    expect([...idsOf(pages)].sort((one, other) => one - other)).toEqual(count(sizes.length))
    for (const { objects } of pages) {
      const bytes = objects.reduce((sum, { body }) => sum + body.length, 0)
      expect(objects.length === 1 || bytes <= 64 * KiB).toBe(true)
      expect(objects.every(({ body, id }) => body === rows[id - 1]?.body)).toBe(true)
    }
    if (!start.includes('limit=1000')) return
    expect(pages.length).toBeGreaterThan(5)
  },
)

test.each(['report/?after=&', 'log/?', 'log/?ordering=-id&'])(
  'previous leads back to every record once, by keyset: %s',
  async (start) => {
    const opened = await openWith({ pageBytes: 64 * KiB })
    await fill(opened)
    const past = await pageOf(opened.url, `/api/${start}limit=7&page=100`)
    expect(past.objects).toEqual([])
    const back = await walk(opened.url, past.meta.previous, 'previous')
    const forward = idsOf(await walk(opened.url, `/api/${start}limit=7`))
    expect(back.toReversed().flatMap(({ objects }) => objects.map(({ id }) => id))).toEqual(forward)
  },
)

test('a list of short columns asks for no sizes, nor one of long columns for a second statement when its values are short', async () => {
  const opened = await openWith()
  await opened.dataSource.getRepository(Plain).insert([{ rank: 1, title: 'a' }])
  await opened.dataSource.getRepository(Report).insert([
    { rank: 1, body: 'a' },
    { rank: 2, body: null },
  ])
  opened.statements()
  await pageOf(opened.url, '/api/plain/')
  expect(opened.statements()).toEqual([expect.not.stringMatching(/LENGTH/i)])
  await pageOf(opened.url, '/api/report/')
  expect(opened.statements()).toEqual([expect.stringMatching(/LENGTH/i)])
})

test('hundreds of records of a megabyte can be read by pages of a thousand', async () => {
  const opened = await openWith()
  const repository = opened.dataSource.getRepository(Log)
  const body = 'y'.repeat(MiB)
  for (const id of count(80)) await repository.insert({ id, body })
  const first = await send(opened.url, 'GET /api/log/?limit=1000')
  expect(first.status).toBe(200)
  expect(first.text.length).toBeLessThan(17 * MiB)
  expect(idsOf(await walk(opened.url, '/api/log/?limit=1000'))).toEqual(count(80))
  const replies = await Promise.all(count(12).map(() => send(opened.url, 'GET /api/log/?limit=400')))
  const statuses = new Set(replies.map(({ status }) => status))
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([])
  expect(statuses).toContain(200)
})

test('a record that is larger than a page is a page, and one that is larger than an item says so', async () => {
  const opened = await openWith({ pageBytes: 16 * KiB, itemBytes: 64 * KiB })
  await opened.dataSource.getRepository(Report).insert([
    { rank: 1, body: bodyOf(1) },
    { rank: 1, body: bodyOf(60) },
    { rank: 1, body: bodyOf(80) },
    { rank: 1, body: bodyOf(1) },
  ])
  const first = await pageOf(opened.url, '/api/report/')
  expect(idsOf([first])).toEqual([1])
  const second = await pageOf(opened.url, first.meta.next)
  expect(idsOf([second])).toEqual([2])
  const third = await send(opened.url, `GET ${second.meta.next}`)
  const detail = `the report with id 3 has ${80 * KiB - 100} bytes; a record in a response may have at most 65536; to leave it out of a list, add id__ne=3`
  const refusal = { type: 'urn:typeorm-resources:record-too-large', status: 500, detail }
  expect([third.status, third.json()]).toMatchObject([500, refusal])
  expect(idsOf(await walk(opened.url, '/api/report/?id__ne=3'))).toEqual([1, 2, 4])
  const item = await send(opened.url, 'GET /api/report/3/')
  expect([item.status, item.json()]).toMatchObject([500, refusal])
  expect((await send(opened.url, 'GET /api/report/2/')).json()).toMatchObject({ id: 2, body: bodyOf(60) })
  expect((await send(opened.url, 'PUT /api/report/3/', { body: { body: 'short' } })).status).toBe(200)
  expect((await send(opened.url, 'GET /api/report/3/')).status).toBe(200)
})

test('the data providers fill up a page of a number that ends early', async () => {
  const opened = await openWith({ pageBytes: 64 * KiB })
  await fill(opened)
  const sort = { field: 'id', order: 'ASC' as const }
  const list = async (page: number) =>
    createDataProvider(`${opened.url}/api`).getList('report', { pagination: { page, perPage: 10 }, sort })
  const pages = [await list(1), await list(2), await list(3)]
  expect(pages.map(({ data }) => data.map(({ id }) => id))).toEqual([
    count(24).slice(0, 10),
    count(24).slice(10, 20),
    count(24).slice(20),
  ])
  expect(pages.map(({ pageInfo }) => pageInfo?.hasNextPage)).toEqual([true, true, false])
  const many = await createDataProvider(`${opened.url}/api`).getMany('report', { ids: [...count(24)] })
  expect(many.data.map(({ id }) => id)).toEqual(count(24))
})

test('a mount refuses budgets that no string could hold', async () => {
  const { dataSource } = await openWith()
  for (const name of ['pageBytes', 'itemBytes']) {
    const mount = () => mountResources(new Koa(), dataSource, { limits: { [name]: 64 * MiB + 1 } })
    expect(mount).toThrow(`"limits.${name}" must be at most 67108864`)
  }
})
