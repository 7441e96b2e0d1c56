import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { AfterLoad, BeforeInsert, BeforeUpdate, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { block } from '../support/block'
import { Gate } from '../support/gate'
import { openPaused } from '../support/paused-client'
import { until } from '../support/stream-world'
import { longText, MiB } from '../support/texts'
import { worldPerTest } from '../support/world-per-test'
import type { World } from '../world/world'

abstract class Text {
  @PrimaryGeneratedColumn() id!: number
  @Column('int', { default: 0 }) rank!: number
  @Column(longText) body!: string
}

/** Updated with one statement, on databases with RETURNING. */
@Entity()
@Resource({ auth: permitAll })
class Story extends Text {}

/** Has a listener: a record is read before it is updated. */
@Entity()
@Resource({ auth: permitAll })
class Observed extends Text {
  @BeforeUpdate() hear(): void {}
}

/** Lets a test hold an insert of a {@link Slow} record. */
const gate = new Gate()

/** An insert waits until the gate is open. */
@Entity()
@Resource({ auth: permitAll })
class Slow extends Text {
  @BeforeInsert() async wait(): Promise<void> {
    await gate.pass()
  }
}

/** Each record takes longer to render than the time after which other requests are handled. */
@Entity()
@Resource({ auth: permitAll })
class Tardy {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 100, transformer: { to: (value) => value, from: (value) => block(12) ?? value } }) name!: string
}

/** The same, with a listener. */
@Entity()
@Resource({ auth: permitAll })
class Loaded {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 100 }) name!: string
  @AfterLoad() wait(): void {
    block(12)
  }
}

const long = 'z'.repeat(15 * MiB)
const part = 'p'.repeat(900 * 1024)

const sockets: Socket[] = []
/** Emits `arrived` with the connection when a request arrives, and `answered` when its response is passed to it. */
const requests = new EventEmitter()
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
const openForTest = worldPerTest()

/** Opens a paused connection that sends requests, and waits for an event of {@link requests}. */
async function sendPaused(url: string, text: string, event: 'arrived' | 'answered'): Promise<Socket> {
  const [socket] = await Promise.all([openPaused(url, text), once(requests, event)])
  sockets.push(socket)
  return socket
}

/** Opens a paused connection that sends an incomplete request, and waits until the service has received all of its text. */
async function sendIncomplete(url: string, text: string): Promise<Socket> {
  const arrived = once(requests, 'arrived') as Promise<[Socket]>
  const [socket, [received]] = await Promise.all([openPaused(url, text), arrived])
  sockets.push(socket)
  await until(async () => received.bytesRead === text.length, 30_000)
  return socket
}

/** Opens a site in whose tables record 1 is long and record 2 is short. */
async function openWith(responseBytes: number): Promise<World> {
  const world = await openForTest({
    entities: [Story, Observed, Slow, Tardy, Loaded, IdempotencyKey],
    mount: { batch: true, limits: { responseBytes } },
    before: (app) => {
      app.proxy = true
      app.use(async (context, next) => {
        requests.emit('arrived', context.socket)
        await next()
        requests.emit('answered')
      })
    },
  })
  for (const entity of [Story, Observed])
    await world.dataSource.getRepository(entity).insert([{ body: long }, { body: 'short' }])
  return world
}

const getLong = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'

/** Opens a site with a response of 15 MiB in memory, and room for 512 KiB more. */
async function openHeld(): Promise<World> {
  const opened = await openWith(15 * MiB + 512 * 1024)
  await sendPaused(opened.url, getLong, 'answered')
  return opened
}

/** Repeats a request until the memory of a closed connection is free, and returns the status. */
async function statusWhenFree(request: () => Promise<Reply>): Promise<number> {
  for (const end = Date.now() + 10_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const { status } = await request()
    if (status !== 503 || Date.now() > end) return status
  }
}

/** Reads a paused connection to its end. */
async function textOf(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (read: string) => {
    text += read
  })
  socket.resume()
  if (!socket.closed) await once(socket, 'close')
  return text
}

const rowsOf = async ({ sql }: World, table: string): Promise<unknown> =>
  (await sql(`SELECT "id", "rank", "body" FROM "${table}" ORDER BY "id"`)).map(({ body, ...row }) => ({
    ...row,
    body: String(body).length,
  }))

const writes = ['story', 'observed'].flatMap((table) => [
  { table, what: 'an update of a long record', line: `PUT /api/${table}/1/`, body: { rank: 5 } },
  { table, what: 'an update that shortens a long record', line: `PATCH /api/${table}/1/`, body: { body: 'x' } },
  { table, what: 'an update that changes nothing of a long record', line: `PUT /api/${table}/1/`, body: {} },
  { table, what: 'an update that makes a record long', line: `PUT /api/${table}/2/`, body: { body: part } },
  { table, what: 'an insert of a long record', line: `POST /api/${table}/`, body: { body: part } },
])

test.each(writes)(
  '$what of $table gets 503 and is not stored if there is no memory for its response',
  async (write) => {
    const { line, body, table } = write
    const opened = await openHeld()
    const before = await rowsOf(opened, table)
    const refused = await send(opened.url, line, { body })
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
    expect(await rowsOf(opened, table)).toEqual(before)
    for (const socket of sockets.splice(0)) socket.destroy()
    expect(await statusWhenFree(() => send(opened.url, line, { body }))).toBe(line.startsWith('POST') ? 201 : 200)
  },
)

test.each(['story', 'observed'])(
  'short records of %s are written as long as there is memory for them',
  async (table) => {
    const { url } = await openHeld()
    expect((await send(url, `PUT /api/${table}/2/`, { body: { rank: 5 } })).json()).toMatchObject({ id: 2, rank: 5 })
    expect((await send(url, `POST /api/${table}/`, { body: { body: 'new' } })).status).toBe(201)
    expect((await send(url, `DELETE /api/${table}/2/`)).status).toBe(204)
  },
)

test.each(['story', 'observed'])(
  'whether there is memory for the response is decided when the body of the request has been read: %s',
  async (table) => {
    const opened = await openWith(MiB)
    const body = '{"rank":5}'
    const head = `PUT /api/${table}/1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n`
    const writer = await sendPaused(opened.url, `${head}Content-Length: ${body.length}\r\n\r\n{`, 'arrived')
    await sendPaused(opened.url, getLong, 'answered')
    const before = await rowsOf(opened, table)
    let text = ''
    writer.setEncoding('utf8').on('data', (read: string) => {
      text += read
    })
    writer.resume().write(body.slice(1))
    await once(writer, 'end')
    expect(text).toMatch(/^HTTP\/1\.1 503 /)
    expect(await rowsOf(opened, table)).toEqual(before)
  },
)

describe('bodies that are being received use up memory', () => {
  const size = 800 * 1024
  const body = JSON.stringify({ body: 'b'.repeat(size) })
  const operations = JSON.stringify([{ method: 'POST', path: '/api/story/', body: { body: 'b'.repeat(size) } }])
  const post = (path: string, header: string, text: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`

  test.each([
    ['a POST', post('/api/story/', '', body), 201],
    ['a POST with a key', post('/api/story/', 'Idempotency-Key: a\r\n', body), 201],
    ['a batch', post('/api/-/batch', '', operations), 200],
  ])('%s gets 503 while they do, until they are complete', async (_, request, status) => {
    const opened = await openWith(MiB)
    const before = await rowsOf(opened, 'story')
    const stalled = await sendIncomplete(opened.url, request.slice(0, -1))
    const refused = await sendPaused(opened.url, request.slice(0, -1), 'answered')
    expect(await textOf(refused)).toMatch(/^HTTP\/1\.1 503 /)
    expect(await rowsOf(opened, 'story')).toEqual(before)
    stalled.write(request.slice(-1))
    expect(await textOf(stalled)).toMatch(`HTTP/1.1 ${status} `)
    expect(await statusWhenFree(() => send(opened.url, 'POST /api/story/', { body: { body: part } }))).toBe(201)
  })

  test.each([
    ['tardy', Tardy],
    ['loaded', Loaded],
  ] as const)('a short list whose rendering pauses gets its response: %s', async (name, entity) => {
    const { url, dataSource } = await openWith(body.length + 60)
    await dataSource.getRepository<Tardy | Loaded>(entity).insert([1, 2, 3].map(() => ({ name: 'n'.repeat(90) })))
    await sendIncomplete(url, post('/api/story/', '', body).slice(0, -1))
    expect((await send(url, `GET /api/${name}/`)).status).toBe(200)
  })

  test.each([
    ['a POST', post('/api/slow/', '', body)],
    ['a POST with a key', post('/api/slow/', 'Idempotency-Key: a\r\n', body)],
    ['a batch', post('/api/-/batch', '', operations.replace('story', 'slow'))],
  ])('%s uses up memory until it is done, also after its client has disconnected', async (_, request) => {
    const { url, sql } = await openWith(MiB)
    const waits = gate.close()
    const arrived = once(requests, 'arrived') as Promise<[Socket]>
    const [client, [connection]] = await Promise.all([openPaused(url, request), arrived, waits])
    const closed = once(connection, 'close')
    client.destroy()
    await closed
    const sendStory = (): Promise<Reply> => send(url, 'POST /api/story/', { body: { body: part } })
    expect((await sendStory()).json()).toMatchObject({ status: 503, detail: expect.stringContaining('in memory') })
    gate.open()
    expect(await statusWhenFree(sendStory)).toBe(201)
    expect(await sql('SELECT "id" FROM "slow"')).toHaveLength(1)
  })

  test('a client that does not complete its body is disconnected after 10 seconds if the memory is needed', async () => {
    const opened = await openWith(MiB)
    await sendIncomplete(opened.url, post('/api/story/', '', body).slice(0, -1))
    const sendStory = (): Promise<Reply> => send(opened.url, 'POST /api/story/', { body: { body: part } })
    expect((await sendStory()).status).toBe(503)
    await until(async () => (await sendStory()).status === 201, 30_000)
  })

  const from = (address: string, text: string): string =>
    text.replace('\r\n', `\r\nX-Forwarded-For: 10.0.0.${address}\r\n`)
  const incomplete = post('/api/story/', '', body).slice(0, -1)
  const sendFrom = (url: string, address: string): Promise<Reply> =>
    send(url, 'POST /api/story/', { body: { body: part }, headers: { 'X-Forwarded-For': `10.0.0.${address}` } })

  test('a client whose bodies have more than half of the memory is disconnected if another client needs it', async () => {
    const { url } = await openWith(2 * MiB)
    const stalled = [await sendIncomplete(url, from('1', incomplete)), await sendIncomplete(url, from('1', incomplete))]
    expect((await sendFrom(url, '1')).status).toBe(503)
    expect((await sendFrom(url, '2')).status).toBe(201)
    // The older connection is closed, and the client keeps what is left.
    expect(await textOf(stalled[0] as Socket)).toBe('')
    stalled[1]?.write('}')
    expect(await textOf(stalled[1] as Socket)).toMatch('HTTP/1.1 201 ')
  })

  test('a client that does not read responses of more than half of the memory is disconnected if another client needs it', async () => {
    const { url } = await openWith(30 * MiB + 512 * 1024)
    const paused = [
      await sendPaused(url, from('1', getLong), 'answered'),
      await sendPaused(url, from('1', getLong), 'answered'),
    ]
    expect((await sendFrom(url, '1')).status).toBe(503)
    expect((await sendFrom(url, '2')).status).toBe(201)
    expect((await textOf(paused[0] as Socket)).length).toBeLessThan(15 * MiB)
  })

  test('clients with half of the memory or less are not disconnected', async () => {
    const { url } = await openWith(2 * MiB)
    const stalled = [await sendIncomplete(url, from('1', incomplete)), await sendIncomplete(url, from('2', incomplete))]
    expect((await sendFrom(url, '3')).status).toBe(503)
    for (const socket of stalled) {
      socket.write('}')
      expect(await textOf(socket)).toMatch('HTTP/1.1 201 ')
    }
  })
})
