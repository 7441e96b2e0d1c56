import { once } from 'node:events'
import { setTimeout as pause, setInterval } from 'node:timers/promises'
import Koa from 'koa'
import {
  AfterLoad,
  Column,
  type ColumnOptions,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  type ValueTransformer,
} from 'typeorm'
import { anonymous, type MountOptions, mountResources, Resource } from 'typeorm-resources'
import { createDataProvider } from '../../src/admin/react-admin'
import { send } from '../client'
import { permitAll } from '../support/access'
import { block } from '../support/block'
import { idsOf, readPage, readPages } from '../support/pages'
import { openPaused } from '../support/paused-client'
import { KiB, longText, MiB, Plain } from '../support/texts'
import { worldPerTest } from '../support/world-per-test'
import { isMariadb } from '../world/leg'
import type { World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') rank!: number
  @Column({ type: longText, nullable: true }) body!: string | null
}

@Entity()
@Resource({ auth: permitAll, paging: 'keyset' })
class Log {
  @PrimaryColumn('int') id!: number
  @Column(longText) body!: string
}

/** Has a listener that may change values, so that it cannot be paged by keyset. */
@Entity()
@Resource({ auth: permitAll })
class Observed {
  @PrimaryColumn('int') id!: number
  @Column(longText) body!: string
  loaded?: boolean
  @AfterLoad() load(): void {
    this.loaded = true
  }
}

/** Has a field with the name of the parameter for cursors. */
@Entity()
@Resource({ auth: permitAll })
class Follower {
  @PrimaryColumn('int') id!: number
  @Column('int') after!: number
  @Column(longText) body!: string
}

/** JSON of any length: on MariaDB `simple-json` has at most 65,535 bytes. */
const longJson: ColumnOptions = { type: isMariadb ? 'json' : 'simple-json' }

/** Its JSON takes much longer to parse than text of the same size. */
@Entity()
@Resource({ auth: permitAll })
class Structured {
  @PrimaryColumn('int') id!: number
  @Column('simple-json') values!: unknown
  @Column({ ...longJson, nullable: true }) long!: unknown
  @ManyToOne(() => Structured, { nullable: true }) source!: Relation<Structured> | null
}

/** Polls of the event loop after which a record was rendered: see {@link renderedIn}. */
const pollsOfRecords: number[] = []
/** The same for calls of the access rule of `Admitted`, each of which takes half a millisecond. */
const pollsOfRules: number[] = []
let poll = 0

/** Counts the polls of the event loop. @returns a function that ends this */
function countPolls(): () => void {
  let isDone = false
  const increase = (): void => {
    poll += 1
    if (!isDone) setImmediate(increase)
  }
  increase()
  return () => {
    isDone = true
  }
}

/** Transformer of a value whose record takes some time to render, in milliseconds. */
const renderedIn = (time: number): ValueTransformer => ({
  to: (value: string) => value,
  from: (value: string) => {
    pollsOfRecords.push(poll)
    block(time)
    return value
  },
})

@Entity()
@Resource({
  auth: () => {
    pollsOfRules.push(poll)
    block(0.5)
    return anonymous
  },
})
class Admitted {
  @PrimaryGeneratedColumn() id!: number
}

/** Each record takes longer to render than the time after which other requests are handled. */
@Entity()
@Resource({ auth: permitAll, formats: true })
class Slow {
  @PrimaryGeneratedColumn() id!: number
  @Column('varchar', { transformer: renderedIn(12) }) name!: string
}

/** The same, with a listener that receives each record. */
@Entity()
@Resource({ auth: permitAll, formats: true })
class Listened extends Slow {
  @AfterLoad() load(): void {
    this.name += 'b'
  }
}

/** Each record takes less time to render than that after which other requests are handled. */
@Entity()
@Resource({ auth: permitAll })
class Brief {
  @PrimaryGeneratedColumn() id!: number
  @Column('varchar', { transformer: renderedIn(6) }) name!: string
}

@Entity()
@Resource({ auth: permitAll })
class Linked {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Brief) brief!: Relation<Brief>
}

/** The same, with a related record. */
@Entity()
@Resource({ auth: permitAll })
class Chained {
  @PrimaryColumn('int') id!: number
  @Column('varchar', { transformer: renderedIn(6) }) name!: string
  @ManyToOne(() => Chained, { nullable: true }) following!: Relation<Chained> | null
}

/** A streamed list renders 200 records, which it reads together, in less than this time. */
@Entity()
@Resource({ auth: permitAll, formats: true })
class Quick {
  @PrimaryGeneratedColumn() id!: number
  @Column('varchar', { transformer: renderedIn(0.02) }) name!: string
}

const entities = [
  Report,
  Log,
  Observed,
  Follower,
  Plain,
  Structured,
  Slow,
  Listened,
  Brief,
  Linked,
  Chained,
  Quick,
  Admitted,
]

const openForTest = worldPerTest()
const openWith = (limits: MountOptions['limits'] = {}): Promise<World> => openForTest({ entities, mount: { limits } })

/** A record with a long text. */
interface Item {
  readonly id: number
  readonly body: string
}
const count = (length: number): readonly number[] => Array.from({ length }, (_, index) => index + 1)

/** Sizes of records, in KiB: a page of 64 KiB has room for few or many of them, or for one that is larger. */
const sizes = [1, 40, 1, 70, 1, 1, 30, 30, 30, 1, 1, 65, 64, 1, 1, 1, 20, 20, 20, 20, 1, 200, 1, 1]
const bodyOf = (kibibytes: number): string => 'x'.repeat(kibibytes * KiB - 100)
const rows = sizes.map((size, index) => ({ id: index + 1, rank: index % 3, after: index, body: bodyOf(size) }))

const fill = async ({ dataSource }: World): Promise<void> => {
  // Copied, since TypeORM writes generated ids into the objects.
  for (const entity of [Report, Log, Observed, Follower]) {
    await dataSource.getRepository(entity).insert(rows.map((row) => ({ ...row })))
  }
}

const starts = [
  ...['report/?', 'log/?', 'observed/?', 'follower/?', 'report/?after=&', 'report/?ordering=-rank&'],
  ...['report/?ordering=-rank&after=&', 'report/?ordering=-id&', 'observed/?ordering=-id&', 'log/?ordering=body,-id&'],
]

test.each(starts.flatMap((start) => [1, 7, 1000].map((limit) => `/api/${start}limit=${limit}`)))(
  'a page ends early if its records have too many bytes, and following next visits every record once: %s',
  async (start) => {
    const { url } = await (async () => {
      const opened = await openWith({ pageBytes: 64 * KiB })
      await fill(opened)
      return opened
    })()
    const pages = await readPages<Item>(url, start)
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
  'following previous visits every record once, by keyset: %s',
  async (start) => {
    const opened = await openWith({ pageBytes: 64 * KiB })
    await fill(opened)
    const past = await readPage(opened.url, `/api/${start}limit=7&page=100`)
    expect(past.objects).toEqual([])
    const back = await readPages(opened.url, past.meta.previous, 'previous')
    const forward = idsOf(await readPages(opened.url, `/api/${start}limit=7`))
    expect(idsOf(back.toReversed())).toEqual(forward)
  },
)

test('a list of short columns reads no sizes, and one of long columns with short values needs no second statement', async () => {
  const opened = await openWith()
  await opened.dataSource.getRepository(Plain).insert([{ rank: 1, title: 'a' }])
  await opened.dataSource.getRepository(Report).insert([
    { rank: 1, body: 'a' },
    { rank: 2, body: null },
  ])
  opened.statements()
  await readPage(opened.url, '/api/plain/')
  expect(opened.statements()).toEqual([expect.not.stringMatching(/LENGTH/i)])
  await readPage(opened.url, '/api/report/')
  expect(opened.statements()).toEqual([expect.stringMatching(/LENGTH/i)])
})

test('hundreds of records of a megabyte can be read in pages of a thousand', async () => {
  const opened = await openWith()
  const repository = opened.dataSource.getRepository(Log)
  const body = 'y'.repeat(MiB)
  for (const id of count(80)) await repository.insert({ id, body })
  const first = await send(opened.url, 'GET /api/log/?limit=1000')
  expect(first.status).toBe(200)
  expect(first.text.length).toBeLessThan(17 * MiB)
  expect(idsOf(await readPages(opened.url, '/api/log/?limit=1000'))).toEqual(count(80))
  const replies = await Promise.all(count(12).map(() => send(opened.url, 'GET /api/log/?limit=400')))
  const statuses = new Set(replies.map(({ status }) => status))
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([])
  expect(statuses).toContain(200)
})

/** Runs `work` and returns the longest part of its time in which no timer ran. */
const longestPause = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  let [last, longest, isDone] = [start, 0, false]
  const done = work().finally(() => {
    isDone = true
  })
  for await (const _ of setInterval(5)) {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (isDone) break
  }
  await done
  return longest / (last - start)
}

test('other requests are handled while the JSON of a page is parsed and rendered', async () => {
  const opened = await openWith()
  const repository = opened.dataSource.getRepository(Structured)
  const values = Array.from({ length: 20_000 }, () => [])
  for (const id of count(250)) await repository.insert({ id, values })
  const read = async (): Promise<void> => {
    const { status, text } = await send(opened.url, 'GET /api/structured/?limit=1000')
    expect([status, text.length > 14 * MiB]).toEqual([200, true])
  }
  await read()
  expect(await longestPause(read)).toBeLessThan(0.5)
})

test('other requests are handled while the related records of a page are parsed and rendered', async () => {
  const opened = await openWith()
  const repository = opened.dataSource.getRepository(Structured)
  const values = Array.from({ length: 20_000 }, () => [])
  for (const id of count(120)) await repository.insert({ id, values, source: { id: 1 } })
  const read = async (): Promise<void> => {
    const { status, text } = await send(opened.url, 'GET /api/structured/?limit=1000&include=source')
    expect([status, text.length > 13 * MiB]).toEqual([200, true])
  }
  await read()
  expect(await longestPause(read)).toBeLessThan(0.5)
})

test('other requests are handled between two records of a page that each take long to render', async () => {
  const opened = await openWith()
  const long = Array.from({ length: 300_000 }, () => [])
  for (const id of count(8)) await opened.dataSource.getRepository(Structured).insert({ id, values: [], long })
  const read = async (): Promise<void> => {
    const { status, text } = await send(opened.url, 'GET /api/structured/')
    expect([status, text.length > 7_000_000]).toEqual([200, true])
  }
  await read()
  expect(await longestPause(read)).toBeLessThan(0.5)
})

test('other requests are handled between two records, however many pages are rendered at the same time', async () => {
  const opened = await openWith()
  const [pages, length] = [8, 12]
  await opened.dataSource.getRepository(Slow).insert(count(length).map(() => ({ name: 'a' })))
  pollsOfRecords.length = 0
  const stop = countPolls()
  const lists = count(pages).map(() => send(opened.url, 'GET /api/slow/'))
  const statuses = (await Promise.all(lists)).map(({ status }) => status)
  stop()
  expect(statuses).toEqual(statuses.map(() => 200))
  expect(pollsOfRecords).toHaveLength(pages * length)
  // A record of another page may be rendered in the same iteration of the event loop.
  expect(new Set(pollsOfRecords).size).toBeGreaterThan(pages * (length - 2))
})

test.each([
  ['slow/?format=csv', Slow],
  ['slow/?format=ndjson', Slow],
  ['listened/', Listened],
  ['listened/?format=csv', Listened],
  ['listened/?format=ndjson', Listened],
] as const)('other requests are handled between two records of %s', async (path, entity) => {
  const opened = await openWith()
  await opened.dataSource.getRepository<Slow>(entity).insert(count(12).map(() => ({ name: 'a' })))
  pollsOfRecords.length = 0
  const stop = countPolls()
  const { status } = await send(opened.url, `GET /api/${path}`)
  stop()
  expect([status, pollsOfRecords.length]).toEqual([200, 12])
  expect(new Set(pollsOfRecords).size).toBeGreaterThan(10)
})

test('other requests are handled between the records of a streamed list that arrive together', async () => {
  const opened = await openWith()
  for (let part = 0; part < 8; part++) {
    await opened.dataSource.getRepository(Quick).insert(count(500).map(() => ({ name: 'a' })))
  }
  pollsOfRecords.length = 0
  const stop = countPolls()
  const { status } = await send(opened.url, 'GET /api/quick/?format=ndjson')
  stop()
  expect([status, pollsOfRecords.length]).toEqual([200, 4000])
  const counts = [...new Set(pollsOfRecords)].map((one) => pollsOfRecords.filter((other) => other === one).length)
  expect(Math.max(...counts)).toBeLessThan(2000)
})

test('other requests are handled between the operations of several batches', async () => {
  const opened = await openForTest({ entities, mount: { batch: true } })
  const body = JSON.stringify(count(100).map(() => ({ method: 'PATCH', path: '/api/admitted/1/', body: {} })))
  const headers = ['Host: x', 'Connection: close', 'Content-Type: application/json', `Content-Length: ${body.length}`]
  const text = ['POST /api/-/batch HTTP/1.1', ...headers, '', body].join('\r\n')
  const sockets = await Promise.all(count(8).map(() => openPaused(opened.url, text.slice(0, -1))))
  await pause(200)
  pollsOfRules.length = 0
  const stop = countPolls()
  // The bodies are complete in the same poll.
  for (const socket of sockets) socket.resume().write(text.slice(-1))
  await Promise.all(sockets.map((socket) => once(socket, 'end')))
  stop()
  const polls = new Set(pollsOfRules)
  expect(pollsOfRules).toHaveLength(800)
  expect(polls.size).toBeGreaterThan(16)
})

test('other requests are handled between the related records of the operations of a batch', async () => {
  const opened = await openForTest({ entities, mount: { batch: true } })
  await opened.dataSource.getRepository(Brief).insert({ id: 1, name: 'a' })
  await opened.dataSource.getRepository(Linked).insert({ id: 1, brief: { id: 1 } })
  const body = count(12).map(() => ({ method: 'PATCH', path: '/api/linked/1/?include=brief', body: {} }))
  pollsOfRecords.length = 0
  const stop = countPolls()
  const { status } = await send(opened.url, 'POST /api/-/batch', { body })
  stop()
  expect([status, pollsOfRecords.length]).toEqual([200, 12])
  expect(new Set(pollsOfRecords).size).toBeGreaterThan(4)
})

test('other requests are handled between the steps of rendering related records', async () => {
  const opened = await openWith()
  for (const id of [5, 4, 3, 2, 1]) {
    const following = id < 5 ? { id: id + 1 } : null
    await opened.dataSource.getRepository(Chained).insert({ id, name: 'a', following })
  }
  pollsOfRecords.length = 0
  const stop = countPolls()
  const include = 'following(include:(following(include:(following(include:(following))))))'
  const { status } = await send(opened.url, `GET /api/chained/?id=1&include=${include}`)
  stop()
  expect([status, pollsOfRecords.length]).toEqual([200, 5])
  const counts = [...new Set(pollsOfRecords)].map((one) => pollsOfRecords.filter((other) => other === one).length)
  expect(Math.max(...counts)).toBeLessThan(3)
})

test('a record larger than a page is a page of its own, and one larger than the limit of an item is an error that says so', async () => {
  const opened = await openWith({ pageBytes: 16 * KiB, itemBytes: 64 * KiB })
  await opened.dataSource.getRepository(Report).insert([
    { rank: 1, body: bodyOf(1) },
    { rank: 1, body: bodyOf(60) },
    { rank: 1, body: bodyOf(80) },
    { rank: 1, body: bodyOf(1) },
  ])
  const first = await readPage(opened.url, '/api/report/')
  expect(idsOf([first])).toEqual([1])
  const second = await readPage(opened.url, first.meta.next)
  expect(idsOf([second])).toEqual([2])
  const third = await send(opened.url, `GET ${second.meta.next}`)
  const detail = `the report with id 3 has ${80 * KiB - 100} bytes; a record in a response may have at most 65536; select fewer fields, or leave it out of a list with id__ne=3`
  const refusal = { type: 'urn:typeorm-resources:record-too-large', status: 500, detail }
  expect([third.status, third.json()]).toMatchObject([500, refusal])
  expect(idsOf(await readPages(opened.url, '/api/report/?id__ne=3'))).toEqual([1, 2, 4])
  const item = await send(opened.url, 'GET /api/report/3/')
  expect([item.status, item.json()]).toMatchObject([500, refusal])
  expect((await send(opened.url, 'GET /api/report/2/')).json()).toMatchObject({ id: 2, body: bodyOf(60) })
  expect((await send(opened.url, 'PUT /api/report/3/', { body: { body: 'short' } })).status).toBe(200)
  expect((await send(opened.url, 'GET /api/report/3/')).status).toBe(200)
})

test('the data providers request further pages until they have as many records as requested', async () => {
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

test('a mount refuses budgets that exceed the maximum length of a string', async () => {
  const { dataSource } = await openWith()
  for (const name of ['pageBytes', 'itemBytes']) {
    const mount = () => mountResources(new Koa(), dataSource, { limits: { [name]: 64 * MiB + 1 } })
    expect(mount).toThrow(`"limits.${name}" must be at most 67108864`)
  }
})
