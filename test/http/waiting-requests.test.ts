import { Agent, get, type OutgoingHttpHeaders } from 'node:http'
import {
  type ClientHttp2Stream,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { listen } from '../support/listen'
import { openPaused } from '../support/paused-client'
import { until } from '../support/stream-world'
import { KiB, longText } from '../support/texts'
import { openWorld, type World } from '../world/world'

/** Memory of requests that wait: of their URL and headers, and of the filters that are parsed from them. */

/** Resolves when the test has ended. */
let ended = Promise.resolve()

/** Its access rule makes a request wait. A request that waits for the database keeps the same memory. */
@Entity()
@Resource({
  auth: async () => {
    await ended
    return anonymous
  },
})
class Delayed {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') rank!: number
}

@Entity()
@Resource({ auth: permitAll })
class Plain {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') rank!: number
}

/** Its response is longer than the limit: it is sent only if no other memory is counted. */
@Entity()
@Resource({ auth: permitAll, aggregate: true })
class Long {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) body!: string
}

/** A text that takes 18 KB. Its length in characters is below the size from which responses are counted. */
const threeBytes = '€'.repeat(6000)
/** Groups show 1,000 characters of a text. */
const groups = [1, 2, 3, 4, 5, 6].map((index) => ({ body: index + threeBytes }))

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Delayed, Plain, Long],
    mount: { limits: { responseBytes: 512 * KiB }, batch: true, mcp: true, live: true },
    before: (app) => {
      app.proxy = true
    },
  })
  await world.dataSource.getRepository(Plain).insert([{ rank: 1 }])
  await world.dataSource.getRepository(Long).insert([{ body: 'z'.repeat(600 * KiB) }, { body: threeBytes }, ...groups])
})
afterAll(async () => {
  await world.close()
  // Node.js reports bodies that are not complete, and connections that the client has closed.
  const codes = world.faults.map((fault) => (fault as { readonly code?: unknown }).code)
  expect(codes.filter((code) => !['HPE_INVALID_EOF_STATE', 'EPIPE', 'ECONNRESET'].includes(String(code)))).toEqual([])
})

let end = (): void => undefined
const sockets: Socket[] = []
beforeEach(() => {
  ended = new Promise((resolve) => {
    end = resolve
  })
})
afterEach(async () => {
  end()
  for (const socket of sockets.splice(0)) socket.destroy()
  // The server frees the memory of the closed connections, also that of HTTP/2.
  await until(async () => (await send(world.url, 'GET /api/long/1/')).status === 200, 10_000)
})

const longQuery = ['rank__in', 'id__in']
  .map((name) => `${name}=${Array.from({ length: 400 }, (_, index) => 1000 + index).join(',')}`)
  .join('&')
const manyHeaders = Array.from({ length: 990 }, (_, index) => `h${index}: \r\n`).join('')
const json = 'Content-Type: application/json\r\nContent-Length: 100\r\n'

function requestText(line: string, headers: string, address = '1'): string {
  return `${line} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.0.0.${address}\r\n${headers}\r\n`
}

interface Client {
  /** Returns what was received. */
  readonly received: () => string
  readonly socket: Socket
}

/** Sends a request. */
async function open(text: string): Promise<Client> {
  const socket = await openPaused(world.url, text)
  sockets.push(socket)
  let received = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    received += part
  })
  socket.resume()
  return { received: () => received, socket }
}

/** The most expensive requests of each kind that wait. */
const waiting: readonly (readonly [name: string, text: string])[] = [
  ['lists with many values of filters', requestText(`GET /api/delayed/?${longQuery}`, '')],
  ['lists with many headers', requestText('GET /api/delayed/', manyHeaders)],
  ['requests of HEAD', requestText(`HEAD /api/delayed/?${longQuery}`, '')],
  ['live lists', requestText('GET /api/plain/', `Accept: text/event-stream\r\n${manyHeaders}`)],
  ['short bodies that are not complete', requestText('POST /api/plain/', json + manyHeaders)],
  ['batches that are not complete', requestText('POST /api/-/batch', json + manyHeaders)],
  ['messages of agents that are not complete', requestText('POST /api/-/mcp', json + manyHeaders)],
]

test.each(waiting)('%s are refused when those that wait have used up the memory', async (_, text) => {
  const clients: Client[] = []
  for (let index = 0; index < 12; index++) clients.push(await open(text))
  const count = (): number => clients.filter(({ received }) => received().startsWith('HTTP/1.1 503 ')).length
  await until(async () => count() >= 4, 10_000)
  expect(count()).toBeLessThan(12)
  // Requests with little memory are not refused.
  expect((await send(world.url, 'GET /api/plain/1/')).status).toBe(200)
})

/** Requests that wait for their client. */
const slow: readonly (readonly [name: string, (address: string) => string])[] = [
  [
    'requests that wait for earlier ones of their connection',
    (address) =>
      requestText('GET /api/delayed/', '', address) + requestText('GET /api/plain/', manyHeaders, address).repeat(4),
  ],
  [
    'small requests that wait for earlier ones of their connection',
    (address) => requestText('GET /api/delayed/', '', address) + requestText('GET /api/plain/', '', address).repeat(25),
  ],
  ['short bodies that are not complete', (address) => requestText('POST /api/plain/', json + manyHeaders, address)],
]

test.each(slow)('if another client needs the memory, connections are closed: %s', async (_, textFrom) => {
  const opened: Client[] = []
  for (let index = 0; index < 5; index++) opened.push(await open(textFrom('1')))
  await send(world.url, 'GET /api/plain/1/')
  const list = `GET /api/plain/?${longQuery}`
  const statusOf = async (): Promise<number> =>
    (await send(world.url, list, { headers: { 'X-Forwarded-For': '10.0.0.2' } })).status
  const other = await open(requestText(`GET /api/delayed/?${longQuery}`, '', '2'))
  await until(async () => (await statusOf()) === 200, 5000)
  await until(async () => opened.some(({ socket }) => socket.closed), 5000)
  expect(other.received()).toBe('')
})

test('the connection of pipelined requests is closed if there is not enough memory for them', async () => {
  const text = requestText('GET /api/delayed/', '') + requestText('GET /api/plain/', manyHeaders).repeat(30)
  const { socket, received } = await open(text)
  await until(async () => socket.closed, 5000)
  expect(received()).toBe('')
})

/** Small requests of an HTTP/2 connection that wait. */
const streams: readonly (readonly [name: string, headers: OutgoingHttpHeaders, body: string])[] = [
  ['lists', { ':path': '/api/delayed/' }, ''],
  [
    'short bodies that are not complete',
    { ':path': '/api/plain/', ':method': 'POST', 'content-type': 'application/json', 'content-length': 100 },
    '{"rank": ',
  ],
]

test.each(streams)(
  'requests of an HTTP/2 connection are refused when many of them wait: %s',
  async (_, headers, body) => {
    const server = createServer(world.app.callback())
    const serverSessions: ServerHttp2Session[] = []
    server.on('session', (one) => serverSessions.push(one))
    const session = connect(await listen(server))
    const statuses: unknown[] = []
    const openStream = (): ClientHttp2Stream =>
      session
        .request(headers, { endStream: body === '' })
        .on('response', (response) => statuses.push(response[':status']))
        .on('error', () => undefined)
    for (let index = 0; index < 40; index++) {
      const stream = openStream()
      if (body !== '') stream.write(body)
    }
    await until(async () => statuses.length >= 8, 10_000)
    expect([statuses.length, new Set(statuses)]).toEqual([8, new Set([503])])
    session.destroy()
    for (const one of serverSessions) one.destroy()
    server.close()
  },
)

test.each([
  ['records', 'GET', '/api/long/2/', undefined],
  ['groups', 'GET', '/api/long/?id__gt=2&aggregate=count&by=body', undefined],
  ['batches', 'POST', '/api/-/batch', { requests: [{ method: 'PATCH', path: 'long/2/', body: { body: threeBytes } }] }],
])('%s that an HTTP/2 client does not read are counted in bytes', async (_, method, path, body) => {
  const server = createServer(world.app.callback())
  const streams: ServerHttp2Stream[] = []
  server.on('stream', (stream) => streams.push(stream))
  const serverSessions: ServerHttp2Session[] = []
  server.on('session', (one) => serverSessions.push(one))
  const session = connect(await listen(server), { settings: { initialWindowSize: 0 } })
  const statuses: unknown[] = []
  for (let index = 0; index < 40; index++) {
    const stream = session.request({ ':method': method, ':path': path, 'content-type': 'application/json' })
    stream.end(body && JSON.stringify(body))
    stream.on('response', (response) => statuses.push(response[':status'])).on('error', () => undefined)
  }
  await until(async () => statuses.length === 40, 10_000)
  // Each takes 16 KiB for the head and 18 KB for the body of the 512 KiB.
  expect(statuses.filter((status) => status === 200).length).toBeLessThan(16)
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
  // At most 32 heads are counted. The other streams would keep memory until the client disconnects.
  const areOpen = (): number => streams.filter(({ closed }) => !closed).length
  await until(async () => areOpen() < 33, 10_000)
  session.destroy()
  for (const one of serverSessions) one.destroy()
  server.close()
})

test('no memory is counted after requests that were completed, refused, pipelined or aborted', async () => {
  const list = `GET /api/plain/?${longQuery}`
  const agent = new Agent({ keepAlive: true, maxSockets: 3 })
  const read = (path: string): Promise<unknown> =>
    new Promise((resolve) => {
      get(`${world.url}${path}`, { agent }, (incoming) => incoming.resume().once('close', resolve)).on('error', resolve)
    })
  const server = createServer(world.app.callback())
  const serverSessions: ServerHttp2Session[] = []
  server.on('session', (one) => serverSessions.push(one))
  const session = connect(await listen(server))
  const readStream = (path: string, isReset: boolean): Promise<unknown> =>
    new Promise((resolve) => {
      const stream = session.request({ ':path': path }).once('close', resolve).on('error', resolve).resume()
      if (isReset) stream.close()
    })
  const abort = async (text: string): Promise<void> => {
    const { socket } = await open(text)
    await pause(20)
    socket.destroy()
  }
  const runs = Array.from({ length: 10 }, (_, index) => [
    ...[1, 2, 3].map(() => read(`/api/plain/?${longQuery}`)),
    read(`/api/plain/?${longQuery}&nothing=1`),
    readStream(`/api/plain/?${longQuery}`, index % 2 === 0),
    readStream('/api/plain/1/', index % 3 === 0),
    open((requestText(list, '') + requestText('GET /api/plain/', manyHeaders)).repeat(2)),
    abort(requestText(list, manyHeaders).repeat(3)),
    abort(requestText('POST /api/plain/', json + manyHeaders)),
    abort(requestText('GET /api/long/1/', '').repeat(2)),
    abort(requestText(`GET /api/delayed/?${longQuery}`, '') + requestText('GET /api/plain/', '').repeat(3)),
  ])
  await Promise.all(runs.flat())
  session.destroy()
  for (const one of serverSessions) one.destroy()
  server.close()
  agent.destroy()
  for (const socket of sockets.splice(0)) socket.destroy()
  end()
  await until(async () => (await send(world.url, 'GET /api/long/1/')).status === 200, 10_000)
})
