import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import type Koa from 'koa'
import compress from 'koa-compress'
import { AfterLoad, Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { openPaused } from '../support/paused-client'
import { pause, until } from '../support/stream-world'
import { KiB, longText, MiB } from '../support/texts'
import { openWorld, type World } from '../world/world'

/** Lists that are streamed: the parameter `format`, and the header `Accept`. */

class Place {
  @Column({ type: 'varchar', length: 20 }) city!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) zip!: string | null
}

@Entity()
@Resource({ auth: permitAll, formats: true })
class Maker {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

@Entity()
@Resource({
  auth: ({ context }) => ({ ...anonymous, admin: context.get('x-admin') === 'yes' }),
  formats: true,
  aggregate: true,
  exclude: ['secret'],
  search: ['name'],
  scope: ({ admin }) => (admin ? true : { rank__lt: 1000 }),
  fields: { cost: { read: ({ admin }) => admin === true } },
})
class Part {
  @Column({ length: 20 }) name!: string
  @Column({ type: longText, nullable: true }) story!: string | null
  @PrimaryGeneratedColumn() code!: number
  @Column({ length: 20 }) secret!: string
  @Column('int') rank!: number
  @Column('int', { nullable: true }) size!: number | null
  @Column('int') cost!: number
  @Column(() => Place) place!: Place
  @ManyToOne(() => Maker, { nullable: true }) maker!: Relation<Maker> | null
  @Column({ type: 'decimal', precision: 8, scale: 2 }) price!: string
}

/** Has a key of two columns, and lists with cursors. */
@Entity()
@Resource({ auth: permitAll, paging: 'keyset', formats: ['ndjson'] })
class Slot {
  @Column({ length: 20 }) label!: string
  @PrimaryColumn({ length: 20 }) shelf!: string
  @PrimaryColumn('int') number!: number
}

/** Has a listener that fails for one record, and a field with the name of the parameter. */
@Entity()
@Resource({ auth: permitAll, formats: true })
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) format!: string
  @AfterLoad() check(): void {
    if (this.format === 'broken') throw new Error('this card is broken')
    this.format = this.format.toUpperCase()
  }
}

/** Has no formats. */
@Entity()
@Resource({ auth: permitAll })
class Quiet {
  @PrimaryGeneratedColumn() id!: number
}

const partCount = 1300
const parts = Array.from({ length: partCount }, (_, index) => ({
  name: index % 7 === 0 ? `=SUM(A${index})` : `part, "${index}"\nä`,
  story: index % 11 === 0 ? null : index % 400 === 1 ? 's'.repeat(200 * KiB) : 'short',
  secret: 'hidden',
  rank: index % 50 === 49 ? 2000 : index % 30,
  size: index % 3 === 0 ? null : index % 13,
  cost: 7,
  place: { city: `city ${index % 5}`, zip: index % 2 === 0 ? null : '1' },
  maker: index % 4 === 0 ? null : { id: (index % 3) + 1 },
  price: `${index % 2 === 0 ? '-' : ''}${index}.50`,
}))

const use: { compress: boolean } = { compress: false }
let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Maker, Part, Slot, Card, Quiet],
    mount: { limits: { streams: 4, streamStall: 9000 } },
    // More connections than lists.
    source: { poolSize: 5 } as object,
    before: (app: Koa) => {
      app.proxy = true
      const zip = compress({ threshold: 0, br: false })
      app.use((context, next) => (use.compress ? zip(context, next) : next()))
    },
    seed: async (dataSource) => {
      await insertRows(dataSource, Maker, [{ name: 'b' }, { name: 'a' }, { name: 'c' }])
      await insertRows(dataSource, Part, parts)
      const slots = Array.from({ length: 700 }, (_, n) => ({ label: `l${n % 3}`, shelf: `s${n % 9}`, number: n }))
      await insertRows(dataSource, Slot, slots)
      await insertRows(
        dataSource,
        Card,
        Array.from({ length: 900 }, (_, n) => ({ format: n === 600 ? 'broken' : 'a' })),
      )
    },
  })
})
afterAll(() => world.close())

const get = (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
  send(world.url, `GET /api/${path}`, { headers })

const linesOf = ({ status, text }: Reply): readonly unknown[] => {
  if (status !== 200) throw new Error(text)
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

/** All records of a list, read page by page. */
const pagesOf = async (path: string, headers: Record<string, string> = {}): Promise<readonly unknown[]> => {
  const records: unknown[] = []
  let next = `/api/${path}${path.includes('?') ? '&' : '?'}limit=500`
  while (next !== '') {
    const reply = await send(world.url, `GET ${next}`, { headers })
    if (reply.status !== 200) throw new Error(reply.text)
    const { meta, objects } = reply.json() as { meta: { next: string }; objects: unknown[] }
    records.push(...objects)
    next = meta.next
  }
  return records
}

const lists: readonly string[] = [
  'part/',
  'part/?ordering=-size,name',
  'part/?ordering=maker__name__nullslast,-price',
  'part/?ordering=story&fields=rank,place',
  'part/?rank__lt=12&or=(size__is:null,rank:3)&search=sum',
  'part/?rank=99999',
  'maker/',
  'slot/',
  'slot/?ordering=-label',
]

describe.each(lists)('%s', (path) => {
  const streamed = `${path}${path.includes('?') ? '&' : '?'}format=ndjson`
  test.each(['no', 'yes'])(
    'the stream has the records of the pages, in their order (administrator: %s)',
    async (admin) => {
      const headers = { 'x-admin': admin }
      expect(linesOf(await get(streamed, headers))).toEqual(await pagesOf(path, headers))
    },
  )
})

test('the parameter limit limits the records, also above the page size', async () => {
  expect(linesOf(await get('part/?format=ndjson&limit=1101', { 'x-admin': 'yes' }))).toHaveLength(1101)
  expect(linesOf(await get('part/?format=ndjson&limit=3'))).toHaveLength(3)
})

/** Parses RFC 4180. */
const parseCsv = (text: string): readonly (readonly string[])[] => {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

test('CSV has a header and a row for each record', async () => {
  const reply = await get('part/?format=csv&ordering=id')
  expect(reply.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename="part.csv"',
    vary: 'Accept, Authorization',
    'x-content-type-options': 'nosniff',
  })
  const records = (await pagesOf('part/?ordering=id')) as readonly Record<string, unknown>[]
  const { place, ...first } = Object(records[0])
  const names = Object.keys(Object(records[0])).flatMap((name) =>
    name === 'place' ? Object.keys(place).map((inner) => `place__${inner}`) : [name],
  )
  expect(first).not.toHaveProperty('secret')
  const cell = (value: unknown): string => (value === null ? '' : String(value))
  const rows = records.map((record) =>
    names.map((name) => {
      const [outer = '', inner] = name.split('__')
      const text = cell(inner === undefined ? record[outer] : Object(record[outer])[inner])
      return text.startsWith('=') ? `'${text}` : text
    }),
  )
  expect(parseCsv(reply.text)).toEqual([names, ...rows])
})

test('CSV of no records has only a header; of one field, it has no empty lines', async () => {
  expect((await get('maker/?format=csv&id=99')).text).toBe('id,name\r\n')
})

/** A header `Accept` that prefers CSV. */
const csvOfLength = (length: number): string => 'text/csv, a/b;c='.padEnd(length, 'x')

test.each([
  ['no Accept', {}, 'application/json'],
  ['*/*', { accept: '*/*' }, 'application/json'],
  ['a browser', { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }, 'application/json'],
  ['text/*', { accept: 'text/*' }, 'application/json'],
  ['CSV less than JSON', { accept: 'text/csv;q=0.5, application/json' }, 'application/json'],
  ['CSV refused', { accept: 'text/csv;q=0, */*' }, 'application/json'],
  ['CSV', { accept: 'text/csv' }, 'text/csv'],
  ['CSV before anything', { accept: 'text/csv, */*;q=0.1' }, 'text/csv'],
  ['NDJSON', { accept: 'application/x-ndjson' }, 'application/x-ndjson'],
  ['CSV in 1,024 characters', { accept: csvOfLength(1024) }, 'text/csv'],
  ['CSV in 1,025 characters', { accept: csvOfLength(1025) }, 'application/json'],
])('Accept: %s', async (_, headers, type) => {
  const { headers: got } = await get('maker/', headers)
  expect([got['content-type']?.split(';')[0], got.vary]).toEqual([type, 'Accept, Authorization'])
})

test('groups depend on Accept as well: they are JSON only', async () => {
  const json = await get('part/?aggregate=count')
  expect([json.status, json.headers.vary]).toEqual([200, expect.stringMatching(/^Accept\b/)])
  expect((await get('part/?aggregate=count', { accept: 'text/csv' })).status).toBe(400)
})

test('the parameter format has precedence over Accept', async () => {
  const json = await get('maker/?format=json', { accept: 'text/csv' })
  expect(json.headers['content-type']).toBe('application/json; charset=utf-8')
})

test('a resource offers only its formats', async () => {
  expect((await get('slot/', { accept: 'text/csv' })).headers['content-type']).toContain('application/json')
  expect((await get('slot/?format=csv')).json()).toMatchObject({
    status: 400,
    errors: [{ field: 'format', message: 'must be one of json, ndjson' }],
  })
  expect((await get('quiet/', { accept: 'text/csv' })).headers.vary).toBe('Authorization')
  expect((await get('quiet/?format=csv')).json()).toMatchObject({ status: 400 })
})

test('with a field called format, the parameter filters, and Accept asks for a format', async () => {
  expect((await get('card/?format=zzz')).json()).toMatchObject({ objects: [] })
  expect(linesOf(await get('card/?format=a&limit=1', { accept: 'application/x-ndjson' }))).toEqual([
    { id: 1, format: 'A' },
  ])
})

test.each([
  ['page=2', 'page'],
  ['after=', 'after'],
  ['count=exact', 'count'],
  ['include=maker', 'include'],
  ['aggregate=count', 'aggregate'],
  ['limit=0', 'limit'],
  ['secret=hidden', 'secret'],
  ['cost=7', 'cost'],
  ['ordering=cost', 'ordering'],
  ['fields=cost', 'fields'],
])('%s is a 400 before the first byte', async (parameter, field) => {
  for (const format of ['csv', 'ndjson']) {
    const reply = await get(`part/?format=${format}&${parameter}`)
    expect([reply.headers['content-type'], reply.json()]).toMatchObject([
      'application/problem+json; charset=utf-8',
      { status: 400, errors: [{ field }] },
    ])
  }
})

test('HEAD has the headers of GET', async () => {
  const { headers } = await get('part/?format=csv')
  const head = await send(world.url, 'HEAD /api/part/?format=csv')
  const { date, 'transfer-encoding': encoding, ...others } = headers
  expect([head.status, head.text]).toEqual([200, ''])
  expect(head.headers).toMatchObject(others)
  expect((await send(world.url, 'HEAD /api/part/?format=csv&page=2')).status).toBe(400)
})

test('an error after the first byte aborts the connection', async () => {
  const before = world.faults.length
  await expect(get('card/?ordering=id', { accept: 'text/csv' })).rejects.toThrow()
  expect(world.faults.slice(before).map(String)).toEqual(['Error: this card is broken'])
  // Without chunks, only a reset shows that the body is incomplete.
  const socket = await openPaused(world.url, 'GET /api/card/?ordering=id HTTP/1.0\r\nAccept: text/csv\r\n\r\n')
  const errors: string[] = []
  socket.on('error', (error) => errors.push(Object(error).code))
  socket.resume()
  await once(socket, 'close').catch(() => undefined)
  expect(errors).toEqual(['ECONNRESET'])
})

test('clients that read nothing hold a limited number of streams, until they disconnect or are disconnected', async () => {
  const large = { name: 'large', story: 's'.repeat(MiB), secret: '', rank: 500, cost: 1, price: '1' }
  // One by one, because the server limits the size of a statement.
  for (let index = 0; index < 40; index++) {
    await insertRows(world.dataSource, Part, [{ ...large, place: { city: 'x' } }])
  }
  const text = 'GET /api/part/?format=ndjson&rank=500 HTTP/1.1\r\nHost: x\r\n\r\n'
  const sockets = [await openPaused(world.url, text), await openPaused(world.url, text)]
  await pause(500)
  const refused = await get('part/?format=ndjson')
  const detail = 'too many streamed lists are running for you: 2, half of limits.streams; try again'
  expect(refused.json()).toMatchObject({ status: 503, detail })
  // Other clients can have the other half.
  const others = ['192.0.2.1', '192.0.2.2'].map((address) =>
    openPaused(world.url, text.replace(/\r\n$/, `X-Forwarded-For: ${address}\r\n\r\n`)),
  )
  const otherSockets = await Promise.all(others)
  await pause(500)
  const headers = { 'X-Forwarded-For': '192.0.2.3' }
  const full = await send(world.url, 'GET /api/maker/?format=ndjson', { headers })
  expect(full.json()).toMatchObject({ detail: 'too many streamed lists are running: 4 (limits.streams); try again' })
  for (const socket of otherSockets) socket.destroy()
  // Writes and other reads go on.
  expect((await send(world.url, 'POST /api/quiet/', { body: {} })).status).toBe(201)
  sockets[0]?.destroy()
  await until(async () => (await get('maker/?format=ndjson')).status === 200, 30_000)
  sockets[1]?.resume()
  sockets[1]?.pause()
  await until(async () => {
    const free = await Promise.all([get('slot/?format=ndjson'), get('slot/?format=ndjson')])
    return free.every(({ status }) => status === 200)
  }, 60_000)
  sockets[1]?.destroy()
  await world.dataSource.getRepository(Part).delete({ rank: 500 })
})

test('middleware can compress a stream', async () => {
  use.compress = true
  const incoming = await new Promise<IncomingMessage>((resolve) => {
    const headers = { 'accept-encoding': 'gzip' }
    request(`${world.url}/api/part/?format=csv&ordering=id`, { headers, agent: false }, resolve).end()
  })
  expect(incoming.headers['content-encoding']).toBe('gzip')
  const text = gunzipSync(await buffer(incoming)).toString()
  const broken = get('card/?ordering=id', { accept: 'text/csv', 'accept-encoding': 'gzip' })
  const before = world.faults.length
  await expect(broken).rejects.toThrow()
  expect(world.faults.slice(before).map(String)).toEqual(['Error: this card is broken'])
  use.compress = false
  expect(text).toBe((await get('part/?format=csv&ordering=id')).text)
})

test('the OpenAPI document has the parameter and the media types', async () => {
  const { paths } = (await get('openapi.json')).json() as { paths: Record<string, { get: unknown }> }
  const described = (name: string): unknown => {
    const { parameters, responses } = Object(paths[`/${name}`]?.get)
    const format = parameters.find((parameter: { name: string }) => parameter.name === 'format')
    return [format?.schema.enum, Object.keys(responses['200'].content)]
  }
  expect(described('maker')).toEqual([
    ['json', 'ndjson', 'csv'],
    ['application/json', 'application/x-ndjson', 'text/csv'],
  ])
  expect(described('slot')).toEqual([
    ['json', 'ndjson'],
    ['application/json', 'application/x-ndjson'],
  ])
  expect(described('quiet')).toEqual([undefined, ['application/json']])
})
