import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import {
  BeforeInsert,
  Column,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  VersionColumn,
} from 'typeorm'
import { type Principal, problem, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { openWorld, type World } from '../world/world'

/** Imports: POST of NDJSON and CSV. */

const byHeader: Rule = ({ context }) => {
  const id = context.get('x-person')
  return { id: id === '' ? null : Number(id), admin: false }
}

class Place {
  @Column({ type: 'varchar', length: 20, nullable: true }) city!: string | null
  @Column({ type: 'integer', default: 0 }) floor!: number
}

@Entity()
@Resource({ auth: byHeader, bulk: true })
class Shop {
  @PrimaryColumn({ length: 10 }) code!: string
  @Column({ length: 20 }) name!: string
}

@Entity()
@Resource({ auth: byHeader, bulk: 10, formats: true, scope: (me: Principal) => ({ owner: Number(me.id) }) })
class Sale {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 50 }) title!: string
  @Column({ type: 'integer', default: 7 }) amount!: number
  @Column({ type: 'decimal', precision: 8, scale: 2, nullable: true }) price!: string | null
  @Column({ type: 'bigint', nullable: true }) big!: string | null
  @Column({ type: 'double precision', nullable: true }) rate!: number | null
  @Column({ type: 'boolean', default: false }) paid!: boolean
  @Column({ type: 'varchar', length: 50, nullable: true }) remark!: string | null
  @Column({ type: 'simple-json', nullable: true }) extra!: unknown
  @Column({ type: 'simple-enum', enum: ['small', 20, 30], nullable: true }) size!: string | number | null
  @Column({ type: 'integer' }) owner!: number
  @Column({ type: 'varchar', length: 20, nullable: true, unique: true }) number!: string | null
  @Column(() => Place) place!: Place
  @VersionColumn() version!: number
  @ManyToOne(() => Shop, { nullable: true }) shop!: Relation<Shop> | null
}

@Entity()
@Resource({ auth: byHeader, bulk: true })
class Limited {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer' }) amount!: number
  @BeforeInsert() check(): void {
    if (this.amount === 700) throw problem(409, 'the amount 700 is refused')
  }
}

/** Has a JSON column that cannot be null. */
@Entity()
@Resource({ auth: byHeader, bulk: true })
class Form {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'simple-json' }) answers!: unknown
}

/** Stores any JSON as a text. */
@Entity()
@Resource({ auth: byHeader, bulk: true, formats: true })
class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column({
    type: 'varchar',
    length: 50,
    transformer: { to: (value) => JSON.stringify(value), from: (text) => JSON.parse(text) },
  })
  data!: unknown
}

@Entity()
@Resource({ auth: byHeader })
class Single {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
}

@Entity()
@Resource({ auth: byHeader, bulk: true, may: { create: () => false } })
class Archived {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Shop, Sale, Limited, Form, Memo, Single, Archived],
    mount: { limits: { importBytes: 3_000_000, body: 2000, bodyValues: 100, imports: 2 } },
    seed: async (dataSource) => void (await dataSource.getRepository(Shop).save({ code: 'a-1', name: 'first' })),
  })
})
beforeEach(async () => {
  for (const table of ['sale', 'limited', 'form']) await world.sql(`DELETE FROM "${table}"`)
})
afterAll(() => world.close())

const types = { ndjson: 'application/x-ndjson', csv: 'text/csv; charset=utf-8' } as const
const post = (path: string, format: keyof typeof types, body: string | Buffer, person = '1'): Promise<Reply> =>
  send(world.url, `POST /api/${path}`, { body, headers: { 'Content-Type': types[format], 'x-person': person } })
const get = (path: string, person = '1'): Promise<Reply> =>
  send(world.url, `GET /api/${path}`, { headers: { 'x-person': person } })
const lines = (...records: readonly unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('')
const count = async (table: string): Promise<number> =>
  Number(Object.values((await world.sql(`SELECT COUNT(*) AS n FROM "${table}"`))[0] ?? {})[0])
interface Refusal {
  readonly detail: string
  readonly errors?: readonly { readonly line?: number; readonly field: string; readonly message: string }[]
}
const errorsOf = (reply: Reply): readonly string[] =>
  ((reply.json() as Refusal).errors ?? []).map(({ line, field, message }) => `${line} ${field} ${message}`)

test('NDJSON creates a record for each line, and more than the option allows for arrays', async () => {
  const bodies = Array.from({ length: 2500 }, (_, index) => ({ title: `sale ${index}`, amount: index }))
  const reply = await post('sale/', 'ndjson', lines(...bodies))
  expect([reply.status, reply.json()]).toEqual([201, { meta: { model: 'sale', created: 2500 } }])
  const last = await get('sale/?ordering=-id&limit=2')
  expect(
    (last.json() as { objects: { title: string; owner: number }[] }).objects.map((one) => [one.title, one.owner]),
  ).toEqual([
    ['sale 2499', 1],
    ['sale 2498', 1],
  ])
})

test.each<readonly [title: string, format: keyof typeof types, body: string, created: number]>([
  ['blank lines and CRLF', 'ndjson', '{"title":"a"}\r\n\r\n  \n{"title":"b"}', 2],
  ['nothing', 'ndjson', '', 0],
  ['nothing but a header', 'csv', 'title,amount\r\n', 0],
  ['no text at all', 'csv', '', 0],
  ['quotes, commas and line breaks', 'csv', 'title,remark\n"a, ""b""","two\nlines"\nc,d\n', 2],
  ['a byte order mark', 'csv', '\uFEFFtitle\na\n', 1],
])('accepts %s', async (_, format, body, created) => {
  const reply = await post('sale/', format, body)
  expect([reply.status, reply.text]).toEqual([201, JSON.stringify({ meta: { model: 'sale', created } })])
  expect(await count('sale')).toBe(created)
})

test('CSV has the same values as a list in CSV', async () => {
  const records = [
    {
      title: '=1+1',
      amount: -5,
      price: '-3.50',
      big: '9007199254740993',
      paid: true,
      remark: '',
      extra: { a: [1, null] },
    },
    { title: "'quoted", amount: 0, price: null, big: 12, paid: false, remark: null, extra: 'text', shop_id: 'a-1' },
    { title: '+49 1', size: 30, rate: -1e-7, place: { city: 'Bern, "Altstadt"', floor: 3 } },
    { title: 'line\nfeed', size: 'small', rate: 1e20, remark: 'carriage\rreturn' },
    { title: 'large', rate: 1e300 },
  ]
  expect((await post('sale/', 'ndjson', lines(...records))).status).toBe(201)
  const names = 'title,amount,price,big,rate,paid,remark,extra,size,place__city,place__floor,shop_id'
  const listed = await get(`sale/?format=csv&ordering=id&fields=${names}`)
  // RFC 4180: line breaks must be quoted.
  expect(listed.text).toContain('"line\nfeed"')
  expect(listed.text).toContain('"carriage\rreturn"')
  const [header = '', ...rows] = listed.text.split('\r\n')
  const withoutId = [header, ...rows].map((row) => row.replace(/^[^,]*,/, '')).join('\r\n')
  const shown = async () => {
    const { objects } = (await get(`sale/?ordering=id&fields=${names}`)).json() as { objects: { id: number }[] }
    return objects.map(({ id, ...others }) => others)
  }
  const before = await shown()
  await world.sql('DELETE FROM "sale"')
  const reply = await post('sale/', 'csv', withoutId)
  expect(reply.text).toBe('{"meta":{"model":"sale","created":5}}')
  // A cell cannot tell an empty text from null.
  const expected = before.map((record) => ({ ...record, remark: (record as { remark: unknown }).remark || null }))
  expect(await shown()).toEqual(expected)
})

test.each<readonly [cell: string, value: unknown]>([
  ['', null],
  ['null', null],
  ['0', 0],
  ['false', false],
  ['""""""', ''],
  ['[]', []],
  ['{}', {}],
  ['[null]', [null]],
  ['"""null"""', 'null'],
  ['Null', 'Null'],
  ['9007199254740993', '9007199254740993'],
  ['-1e400', '-1e400'],
  ['"""\\ud800"""', '"\\ud800"'],
])('a cell %j of a JSON column is %j', async (cell, value) => {
  expect((await post('sale/', 'csv', `title,extra\na,${cell}\n`)).status).toBe(201)
  const { objects } = (await get('sale/')).json() as { objects: { extra: unknown }[] }
  expect(objects.map(({ extra }) => extra)).toEqual([value])
})

test('an import reads the objects and arrays of a text column whose transformer stores JSON', async () => {
  const values = [{ a: [1, null] }, [2, 'x'], 'text', '{no JSON}']
  expect((await post('memo/', 'ndjson', lines(...values.map((data) => ({ data }))))).status).toBe(201)
  const list = await get('memo/?ordering=id&fields=data&format=csv')
  const withoutIds = list.text.replace(/^\w+,/gm, '')
  await world.sql('DELETE FROM "memo"')
  expect((await post('memo/', 'csv', withoutIds)).status).toBe(201)
  const { objects } = (await get('memo/?ordering=id')).json() as { objects: { data: unknown }[] }
  expect(objects.map(({ data }) => data)).toEqual(values)
})

test('a cell with an object that a text column with JSON would store inexactly is 400', async () => {
  const reply = await post('memo/', 'csv', 'data\n"{""a"":9007199254740993}"\n')
  expect([reply.status, errorsOf(reply)]).toEqual([400, [expect.stringContaining('integers beyond ±(2^53−1)')]])
})

test('a cell null of a JSON column that cannot be null is 400', async () => {
  const reply = await post('form/', 'csv', 'answers\nnull\n')
  expect([reply.status, errorsOf(reply)]).toEqual([400, [expect.stringMatching(/^2 answers must be .*, not null$/)]])
  expect(await count('form')).toBe(0)
})

test.each<
  readonly [title: string, format: keyof typeof types, body: string, status: number, errors: readonly string[]]
>([
  [
    'values',
    'ndjson',
    lines({ title: 'a' }, { title: 5 }, {}, { title: 'b', nope: 1 }),
    400,
    ['2 title must be text of at most 50 characters', '3 title is required', '4 nope is not a field of sale'],
  ],
  [
    'values of CSV',
    'csv',
    'title,amount,paid,extra\na,1,true,{}\nb,x,yes,{\nc,,,\n',
    400,
    ['3 amount must be an integer', '3 paid must be true or false'],
  ],
  [
    'names in the first line',
    'csv',
    'title,nope,other\na,b,c\n',
    400,
    ['1 nope is not a field of sale', '1 other is not a field of sale'],
  ],
  [
    'unique constraints',
    'ndjson',
    lines({ title: 'a', number: 'x' }, { title: 'b' }, { title: 'c', number: 'x' }),
    409,
    ['3 number is taken by another sale'],
  ],
  ['references', 'csv', 'title,shop_id\na,a-1\nb,a-2\n', 400, ['3 shop_id points to no shop']],
  [
    'the row scope',
    'ndjson',
    lines({ title: 'a' }, { title: 'b', owner: 2 }),
    403,
    ['2  you may not create this sale with these values'],
  ],
])('reports errors by line: %s', async (_, format, body, status, errors) => {
  const reply = await post('sale/', format, body)
  const shown = errorsOf(reply).map((error) =>
    error.replace(/(an integer|; fields:).*|; fields:.*/, '$1').replace('; fields:', ''),
  )
  expect([reply.status, shown]).toEqual([status, errors])
  expect(await count('sale')).toBe(0)
  expect(world.faults).toEqual([])
})

test('errors of lines far apart are reported together, up to twenty', async () => {
  const bodies = Array.from({ length: 1000 }, (_, index) => ({ title: index % 100 === 50 ? 5 : 'a' }))
  expect(errorsOf(await post('sale/', 'ndjson', lines(...bodies))).map((error) => error.split(' ')[0])).toEqual([
    '51',
    '151',
    '251',
    '351',
    '451',
    '551',
    '651',
    '751',
    '851',
    '951',
  ])
  const many = await post('sale/', 'ndjson', lines(...Array(5000).fill({ title: 5 })))
  expect(errorsOf(many)).toHaveLength(20)
  expect(await count('sale')).toBe(0)
})

test('a listener that throws at record 700 stores nothing', async () => {
  const reply = await post(
    'limited/',
    'ndjson',
    lines(...Array.from({ length: 1500 }, (_, index) => ({ amount: index + 1 }))),
  )
  expect([reply.status, (reply.json() as Refusal).detail]).toEqual([409, 'the amount 700 is refused'])
  expect(await count('limited')).toBe(0)
})

test('dry_run checks everything and stores nothing', async () => {
  const body = lines({ title: 'a', number: 'x' }, { title: 'b' })
  const reply = await post('sale/?dry_run=true', 'ndjson', body)
  expect([reply.status, reply.json()]).toEqual([200, { meta: { model: 'sale', created: 2, dry_run: true } }])
  expect(await count('sale')).toBe(0)
})

test.each<
  readonly [
    title: string,
    path: string,
    format: keyof typeof types,
    body: string | Buffer,
    status: number,
    detail: RegExp,
  ]
>([
  ['without the option', 'single/', 'ndjson', '{"title":"a"}', 415, /with the option bulk may also have/],
  ['a line that is not JSON', 'sale/', 'ndjson', '{"title":"a"}\n{"title":\n', 400, /line 2 is not JSON/],
  ['a line that is no object', 'sale/', 'ndjson', '{"title":"a"}\n[1]\n', 400, /line 2 must be a JSON object/],
  ['bytes that are not UTF-8', 'sale/', 'ndjson', Buffer.from([0x7b, 0xff, 0x7d]), 400, /not UTF-8/],
  ['CSV that is not UTF-8', 'sale/', 'csv', Buffer.from([0x61, 0xff, 0x0a]), 400, /not UTF-8/],
  ['a long line', 'sale/', 'ndjson', JSON.stringify({ title: 'x'.repeat(3000) }), 413, /at most 2000 bytes/],
  ['a long row', 'sale/', 'csv', `title\n${'x'.repeat(3000)}\n`, 400, /CSV cannot be read/],
  ['a quote that does not end', 'sale/', 'csv', 'title\n"a\n', 400, /CSV cannot be read/],
  [
    'a row with other cells',
    'sale/',
    'csv',
    'title,amount\na,1\nb\n',
    400,
    /the number of cells in line 3 must be 2, as in the first line, not 1/,
  ],
  ['a row with many cells', 'sale/', 'csv', `title\n${','.repeat(2_000_000)}`, 400, /line 2 has more than 4096 cells/],
  [
    'a row with many cells after a carriage return',
    'sale/',
    'csv',
    `title\ra\r${','.repeat(5000)}`,
    400,
    /more than 4096 cells/,
  ],
  ['a first line with many cells', 'sale/', 'csv', ','.repeat(2_000_000), 400, /line 1 has more than 4096 cells/],
  ['a cell with many values', 'sale/', 'csv', `title,extra\na,"[${'0,'.repeat(100)}0]"\n`, 400, /more than 100 values/],
  ['a line with many values', 'sale/', 'ndjson', `{"title":"a","extra":[${'0,'.repeat(100)}0]}`, 400, /more than 100/],
  ['semicolons', 'sale/', 'csv', 'title;amount\na;1,5\n', 400, /line 1 must be separated by commas/],
  ['an array', 'sale/', 'ndjson', '[\n{"title":"a"}\n]', 400, /line 1 is not JSON: .*; each line must have one object/],
  ['a name twice', 'sale/', 'csv', 'title,title\na,b\n', 400, /"title" twice/],
  [
    'a large body',
    'sale/',
    'ndjson',
    `${lines({ title: 'a' })}${'\n'.repeat(3_000_001)}`,
    413,
    /at most 3000000 bytes/,
  ],
  ['include', 'sale/?include=shop', 'ndjson', '{"title":"a"}', 400, /include is not possible/],
])('is refused: %s', async (_, path, format, body, status, detail) => {
  const reply = await post(path, format, body)
  expect([reply.status, (reply.json() as Refusal).detail]).toEqual([status, expect.stringMatching(detail)])
  expect(await count('sale')).toBe(0)
  expect(world.faults).toEqual([])
})

test('a client that disconnects stores nothing', async () => {
  const { hostname, port } = new URL(world.url)
  const socket = connect(Number(port), hostname)
  const head = `POST /api/sale/ HTTP/1.1\r\nHost: x\r\nx-person: 1\r\nContent-Type: application/x-ndjson\r\nContent-Length: 100000\r\n\r\n`
  await new Promise<void>((resolve) => socket.write(head + lines({ title: 'a' }, { title: 'b' }), () => resolve()))
  // The service has begun to receive the body.
  await new Promise((resolve) => setTimeout(resolve, 100))
  socket.destroy()
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(await count('sale')).toBe(0)
  // The connection of the database and the place of the import are free again.
  for (let round = 0; round < 3; round++) expect((await post('sale/', 'ndjson', '{"title":"a"}')).status).toBe(201)
})

test.each([
  ['a user', '1', 403],
  ['anonymous', '', 401],
])('a file of a client who may not create records is refused before it arrives: %s', async (_, person, status) => {
  const { port } = new URL(world.url)
  const socket = connect(Number(port), '127.0.0.1')
  const headers = `Host: x\r\nx-person: ${person}\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000`
  socket.write(`POST /api/archived/ HTTP/1.1\r\n${headers}\r\n\r\n{"title":`)
  const [response] = await once(socket, 'data')
  expect(String(response)).toMatch(`HTTP/1.1 ${status}`)
  socket.destroy()
})

test('slow clients do not keep a transaction open', async () => {
  const { hostname, port } = new URL(world.url)
  const socket = connect(Number(port), hostname)
  const body = lines({ title: 'slow' })
  socket.write(
    `POST /api/sale/ HTTP/1.1\r\nHost: x\r\nx-person: 1\r\nContent-Type: application/x-ndjson\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(
    (await send(world.url, 'POST /api/sale/', { body: { title: 'quick' }, headers: { 'x-person': '1' } })).status,
  ).toBe(201)
  const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
  await Readable.from([body]).forEach((part) => void socket.write(part))
  expect(await answered).toMatch(/^HTTP\/1.1 201/)
  socket.destroy()
})

describe('files that are being received', () => {
  let other: World
  beforeAll(async () => {
    const limits = { imports: 2, importBytes: 200_000, streamTime: 2000 }
    other = await openWorld({ entities: [Limited], mount: { limits } })
  })
  afterAll(() => other.close())

  /** Sends a file in which the last byte is missing, and waits until the service has received the rest. */
  async function sendIncomplete(person: number, size: number): Promise<Socket> {
    const socket = connect(Number(new URL(other.url).port), '127.0.0.1')
    const head = `POST /api/limited/ HTTP/1.1\r\nHost: x\r\nx-person: ${person}\r\nContent-Type: ${types.csv}\r\n`
    socket.write(`${head}Content-Length: ${size + 1}\r\n\r\namount\n${'\n'.repeat(size - 7)}`)
    await new Promise((resolve) => setTimeout(resolve, 300))
    return socket
  }
  const importAs = (person: string, size: number): Promise<Reply> => {
    const body = `amount\n1${'\n'.repeat(size - 8)}`
    return send(other.url, 'POST /api/limited/', { body, headers: { 'Content-Type': types.csv, 'x-person': person } })
  }

  test('leave the places of running imports to others, and share their bytes', async () => {
    const sockets = await Promise.all([sendIncomplete(1, 190_000), sendIncomplete(2, 190_000)])
    expect((await importAs('3', 20)).status).toBe(201)
    // The user has half of the bytes, and all users together have nearly all of them.
    expect((await importAs('1', 150_000)).status).toBe(503)
    expect((await importAs('3', 190_000)).status).toBe(503)
    for (const socket of sockets) socket.write('\n')
    const replies = await Promise.all(sockets.map((socket) => once(socket, 'data')))
    expect(replies.map(([data]) => String(data).slice(9, 12))).toEqual(['201', '201'])
    for (const socket of sockets) socket.destroy()
    expect((await importAs('1', 190_000)).status).toBe(201)
    expect((await importAs('3', 190_000)).status).toBe(201)
  })

  test('are complete if the last part arrives while an earlier one is written to a file', async () => {
    const chunk = (size: number): string => `${size.toString(16)}\r\n${'\n'.repeat(size)}\r\n`
    const statuses: string[] = []
    for (let round = 0; round < 10; round++) {
      const socket = connect({ port: Number(new URL(other.url).port), host: '127.0.0.1', noDelay: true })
      const head = `POST /api/limited/ HTTP/1.1\r\nHost: x\r\nx-person: 1\r\nContent-Type: ${types.csv}\r\n`
      socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk(60_000)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
      // Node.js buffers the chunks that arrive while the first 64 KiB are written. The last one completes further 64 KiB.
      for (const text of [chunk(6000), chunk(15_000), `${chunk(51_000)}0\r\n\r\n`]) {
        socket.write(text)
        await new Promise(setImmediate)
      }
      const [data] = await once(socket, 'data')
      statuses.push(String(data).slice(9, 12))
      socket.destroy()
    }
    expect(statuses).toEqual(Array(10).fill('201'))
  })

  test('must arrive within a time', async () => {
    const socket = await sendIncomplete(1, 100)
    const [data] = await once(socket, 'data')
    expect(String(data)).toMatch(/^HTTP\/1.1 400 .*did not arrive within 2000 ms/s)
    socket.destroy()
  })
})

describe('bodies that take long to read', () => {
  let other: World
  beforeAll(async () => {
    other = await openWorld({ entities: [Limited], mount: { limits: { bulkTime: 500, imports: 1, streamStall: 400 } } })
  })
  afterAll(() => other.close())

  const names = Array.from({ length: 5000 }, (_, index) => index.toString(36)).join()
  const blankLines = Buffer.alloc(40_000_000, '\n')
  test.each<
    readonly [title: string, format: keyof typeof types, body: string | Buffer, status: number, detail: RegExp]
  >([
    ['more names than a table has columns', 'csv', `${names}\n`.repeat(2), 400, /line 1 has more than 4096 cells/],
    ['blank lines, which have a time limit too', 'ndjson', blankLines, 413, /longer than 500 ms/],
    ['blank lines of CSV', 'csv', blankLines, 413, /longer than 500 ms/],
  ])('%s', async (_, format, body, status, detail) => {
    const headers = { 'Content-Type': types[format], 'x-person': '1' }
    const reply = await send(other.url, 'POST /api/limited/', { body, headers })
    expect([reply.status, (reply.json() as Refusal).detail]).toEqual([status, expect.stringMatching(detail)])
  })

  test('a client that sends nothing more is refused, so that others can import', async () => {
    const { hostname, port } = new URL(other.url)
    const socket = connect(Number(port), hostname)
    const head = `POST /api/limited/ HTTP/1.1\r\nHost: x\r\nx-person: 1\r\nContent-Type: ${types.csv}\r\n`
    socket.write(`${head}Content-Length: 100\r\n\r\namount\n`)
    const [data] = await once(socket, 'data')
    expect(String(data)).toMatch(/^HTTP\/1.1 400 .*less than 65536 bytes of the body arrived within 400 ms/s)
    socket.destroy()
    const headers = { 'Content-Type': types.csv, 'x-person': '1' }
    const reply = await send(other.url, 'POST /api/limited/?dry_run=true', { body: 'amount\n1\n', headers })
    expect(reply.status).toBe(200)
  })
})
