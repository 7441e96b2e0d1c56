import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, createServer } from 'node:http2'
import type { Middleware } from 'koa'
import bodyParser from 'koa-bodyparser'
import { IdempotencyKey, type MountOptions } from 'typeorm-resources'
import { send } from '../client'
import { listen } from '../support/listen'
import { openPaused } from '../support/paused-client'
import { KiB, MiB, Plain, Story } from '../support/texts'
import { worldPerTest } from '../support/world-per-test'
import type { World } from '../world/world'

const openForTest = worldPerTest()
const openWith = (limits: MountOptions['limits'] = {}): Promise<World> =>
  openForTest({ entities: [Story, Plain], mount: { limits } })

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
const until = async (condition: () => Promise<boolean>, milliseconds: number): Promise<void> => {
  for (const end = Date.now() + milliseconds; !(await condition()); await pause(50))
    if (Date.now() > end) throw new Error('the condition does not hold in time')
}

test('responses that clients do not read use up memory: further requests get 503 until they are read, or the slow client is disconnected', async () => {
  const opened = await openWith({ responseBytes: 32 * MiB })
  const body = 'z'.repeat(15 * MiB)
  await opened.dataSource.getRepository(Story).insert([{ body }])
  await opened.dataSource.getRepository(Plain).insert([{ rank: 1, title: 'a' }])
  const get = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'
  const statusOf = async (path: string): Promise<number> => (await send(opened.url, `GET /api/${path}/`)).status
  const sockets = [await openPaused(opened.url, get), await openPaused(opened.url, get)]
  await pause(1500)
  await until(async () => (await statusOf('story/1')) === 503, 5000)
  const refused = await send(opened.url, 'GET /api/story/1/')
  expect([refused.headers['retry-after'], refused.json()]).toMatchObject([
    '1',
    { detail: expect.stringContaining('33554432') },
  ])
  expect(await statusOf('plain')).toBe(200)
  // One client reads its response.
  sockets[0]?.resume()
  await until(async () => (await statusOf('story/1')) === 200, 5000)
  // The other client is disconnected for being too slow as soon as the memory is needed again: on a busy machine already for the
  // third client, so that a fourth one is needed to fill the memory.
  sockets.push(await openPaused(opened.url, get), await openPaused(opened.url, get))
  await pause(1500)
  await until(async () => (await statusOf('story/1')) === 503, 5000)
  await until(async () => (await statusOf('story/1')) === 200, 15_000)
  for (const socket of sockets) socket.destroy()
})

test.each([
  ['get', { id: 2 }],
  ['list', { filters: { id: 2 } }],
])('the tool %s of agents is refused while other responses use up the memory', async (name, args) => {
  const { url, dataSource } = await openForTest({
    entities: [Story, Plain],
    mount: { limits: { responseBytes: 32 * MiB }, mcp: true },
  })
  const sizes = [16 * MiB - 200 * KiB, 900 * KiB]
  for (const size of sizes) await dataSource.getRepository(Story).insert({ body: 'z'.repeat(size) })
  const params = { name, arguments: { resource: 'story', ...args } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const headers = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' }
  const get = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'
  const sockets = [await openPaused(url, get), await openPaused(url, get)]
  await pause(1000)
  const { result } = (await send(url, 'POST /api/-/mcp', { body, headers })).json() as { result: object }
  expect(result).toEqual({ isError: true, content: [{ type: 'text', text: expect.stringContaining('responseBytes') }] })
  for (const socket of sockets) socket.destroy()
})

test('an HTTP/2 client that does not receive a short response to a long body cannot keep the memory of the body', async () => {
  const { url, app, dataSource } = await openForTest({
    entities: [Story, Plain],
    mount: { limits: { responseBytes: 1.5 * MiB } },
    before: (koa) => {
      koa.proxy = true
    },
  })
  await dataSource.getRepository(Plain).insert([{ rank: 1, title: 'a' }])
  const body = `{"rank":2${' '.repeat(MiB - 100)}}`
  const headersOf = (address: string) => ({ 'Content-Type': 'application/json', 'X-Forwarded-For': address })
  const server = createServer(app.callback())
  // The client accepts no byte of the response.
  const session = connect(await listen(server), { settings: { initialWindowSize: 0 } })
  await once(session, 'remoteSettings')
  const stream = session.request({ ':method': 'PUT', ':path': '/api/plain/1/', ...headersOf('10.0.0.1') })
  stream.end(body)
  const [{ ':status': status }] = await once(stream, 'response')
  expect(status).toBe(200)
  const closed = once(stream, 'close')
  // The other client needs the memory: the first one has more than half of it.
  const other = await send(url, 'PUT /api/plain/1/', { body, headers: headersOf('10.0.0.2') })
  expect(other.status).toBe(200)
  await closed
  session.destroy()
  await new Promise((resolve) => server.close(resolve))
})

test('the memory of a response whose client disconnects while its record is read is released once', async () => {
  let leave = (): void => undefined
  let selects = 0
  const world = await openForTest({
    entities: [Story, Plain],
    mount: { limits: { responseBytes: MiB, pageBytes: MiB } },
    before: (app) => {
      app.use(({ req }, next) => {
        if (req.headers['x-leave'] !== undefined) leave = () => req.socket.destroy()
        selects = 0
        return next()
      })
    },
  })
  const { url, dataSource } = world
  await dataSource.getRepository(Story).insert([{ body: 'z'.repeat(15 * MiB) }])
  const { logger } = dataSource
  const logQuery = logger.logQuery.bind(logger)
  logger.logQuery = (...query) => {
    // The first statement reads the length of the record, the second one its values.
    if (query[0].includes('SELECT') && ++selects === 2) leave()
    return logQuery(...query)
  }
  const disconnects = (): Promise<boolean> =>
    send(url, 'GET /api/story/1/', { headers: { 'x-leave': 'yes' } }).then(
      () => false,
      () => true,
    )
  // While a server still cancels the statement of the previous client, its memory is in use, and the response is 503.
  for (let index = 0; index < 5; index++) await until(disconnects, 5000)
  logger.logQuery = logQuery
  await until(async () => (await send(url, 'GET /api/story/1/')).status === 200, 5000)
  const socket = await openPaused(url, 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n')
  await pause(1500)
  await until(async () => (await send(url, 'GET /api/story/1/')).status === 503, 5000)
  socket.destroy()
})

test('a connection does not accumulate listeners over many requests', async () => {
  const listeners: number[] = []
  const world = await openForTest({
    entities: [Story, Plain],
    before: (app) => {
      app.use(({ req }, next) => {
        listeners.push(req.socket.listenerCount('close'))
        return next()
      })
    },
  })
  await world.dataSource.getRepository(Story).insert([{ body: 'z'.repeat(60 * KiB) }])
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let index = 0; index < 20; index++) await send(world.url, 'GET /api/story/1/', { agent })
  agent.destroy()
  expect(listeners.slice(1)).toEqual(listeners.slice(1).map(() => listeners[1]))
})

test('a write gets 503 and is not stored while other responses use up the memory', async () => {
  const opened = await openWith({ responseBytes: MiB })
  const body = 'z'.repeat(15 * MiB)
  await opened.dataSource.getRepository(Story).insert([{ body }])
  const socket = await openPaused(opened.url, 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n')
  const put = () => send(opened.url, 'PUT /api/story/1/', { body: { body: 'short' } })
  await pause(500)
  expect((await put()).status).toBe(503)
  expect((await opened.dataSource.getRepository(Story).findOneByOrFail({ id: 1 })).body).toHaveLength(body.length)
  socket.destroy()
  await until(async () => (await put()).status === 200, 5000)
})

test('the stored response to a repeated write gets 503 while other responses use up the memory', async () => {
  const { url, dataSource } = await openForTest({
    entities: [Story, IdempotencyKey],
    mount: { batch: true, limits: { responseBytes: MiB } },
  })
  await dataSource.getRepository(Story).insert([{ body: 'z'.repeat(15 * MiB) }, { body: 'z'.repeat(900 * KiB) }])
  const headers = { 'Idempotency-Key': 'a' }
  const operations = [{ method: 'PATCH', path: '/api/story/2/', body: {} }]
  const patch = () => send(url, 'PATCH /api/story/2/', { body: {}, headers })
  const batch = () => send(url, 'POST /api/-/batch', { body: operations, headers: { 'Idempotency-Key': 'b' } })
  const [written, writtenByBatch] = [await patch(), await batch()]
  expect([written.status, writtenByBatch.status]).toEqual([200, 200])
  const socket = await openPaused(url, 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(async () => (await send(url, 'GET /api/story/2/')).status === 503, 5000)
  expect([(await patch()).status, (await batch()).status]).toEqual([503, 503])
  socket.destroy()
  await until(async () => (await patch()).status === 200, 5000)
  expect((await patch()).json()).toEqual(written.json())
  expect((await batch()).json()).toEqual(writtenByBatch.json())
})

test('pipelined requests are handled one after another, as their responses are read', async () => {
  const opened = await openWith()
  await opened.dataSource
    .getRepository(Story)
    .insert(Array.from({ length: 100 }, () => ({ body: 'p'.repeat(60 * KiB) })))
  opened.statements()
  const requests = 2000
  const socket = await openPaused(opened.url, 'GET /api/story/?limit=100 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests))
  await pause(1500)
  expect(opened.statements().length).toBeLessThan(6)
  expect((await send(opened.url, 'GET /api/story/1/')).status).toBe(200)
  socket.destroy()
  await pause(200)
  expect(opened.statements().length).toBeLessThan(6)
})

/** Middleware that awaits longer for the first request than for the following ones. */
const slowAtFirst = (): Middleware => {
  let requests = 0
  return async (_, next) => {
    requests += 1
    await pause(requests === 1 ? 300 : 0)
    return next()
  }
}

test('up to a number of pipelined requests can wait; the next one gets 503, and the connection is closed', async () => {
  const world = await openForTest({
    entities: [Plain],
    mount: { limits: { pipelined: 3, responseBytes: MiB } },
    before: (app) => app.use(slowAtFirst()),
  })
  await world.dataSource.getRepository(Plain).insert([{ rank: 1, title: 'a' }])
  // If all of these were counted, there would not be enough memory, and the connection would be closed at once.
  const socket = await openPaused(world.url, 'GET /api/plain/1/ HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200))
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  socket.resume()
  await once(socket, 'end')
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))).toEqual([200, 200, 200, 200, 503])
})

const before: Readonly<Record<string, () => Middleware>> = {
  'middleware that awaits longer for the first': slowAtFirst,
  'koa-bodyparser': bodyParser,
}

test.each(Object.entries(before))(
  'pipelined requests get their responses in order, after %s',
  async (_, middleware) => {
    const world = await openForTest({ entities: [Story, Plain], before: (app) => app.use(middleware()) })
    const body = '{"rank":1,"title":"new"}'
    const post = `POST /api/plain/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const get = 'GET /api/plain/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const socket = await openPaused(world.url, post + get)
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    socket.resume()
    await once(socket, 'end')
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))).toEqual([201, 200])
    expect(text.slice(text.lastIndexOf('HTTP/1.1'))).toContain('"title":"new"')
  },
)
