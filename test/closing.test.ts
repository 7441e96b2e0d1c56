import { hasSubscribers } from 'node:diagnostics_channel'
import { Agent, createServer, get, type Server } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect as connectTo, type Socket } from 'node:net'
import Koa from 'koa'
import { type DataSource, EntitySchema } from 'typeorm'
import { anonymous, closeGracefully, mountResources } from 'typeorm-resources'
import { listen } from './support/listen'
import { openDataSource } from './world/world'

const Thing = new EntitySchema({ name: 'Thing', columns: { id: { type: Number, primary: true, generated: true } } })

/** Opens a site whose responses take the given time. */
async function open(milliseconds: number): Promise<{ server: Server; dataSource: DataSource; url: string }> {
  const dataSource = await openDataSource([Thing])
  const app = new Koa()
  app.use(async (_, next) => {
    await new Promise((resolve) => setTimeout(resolve, milliseconds).unref())
    await next()
  })
  mountResources(app, dataSource, { resources: [{ entity: Thing }] })
  const server = createServer(app.callback())
  return { server, dataSource, url: `${await listen(server)}/api/thing/` }
}

const fetchStatus = (url: string, agent: Agent): Promise<number | string> =>
  new Promise((resolve) => {
    get(url, { agent }, (incoming) => {
      incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0))
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })

const agents: Agent[] = []
const keepAlive = (): Agent => {
  const agent = new Agent({ keepAlive: true })
  agents.push(agent)
  return agent
}
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy()
})

test('a graceful shutdown finishes running requests, closes idle keep-alive connections, and then destroys the data source', async () => {
  const { server, dataSource, url } = await open(1000)
  const agent = keepAlive()
  const requests = Array.from({ length: 100 }, () => fetchStatus(url, agent))
  // Requests that have not reached the service are not handled: Node resets their connection.
  let come = 0
  await new Promise<void>((resolve) => server.on('request', () => ++come === requests.length && resolve()))
  const start = performance.now()
  const closing = closeGracefully(server, dataSource)
  expect(closeGracefully(server, dataSource)).toBe(closing)
  expect(await fetchStatus(url, keepAlive())).toBe('ECONNREFUSED')
  expect(new Set(await Promise.all(requests))).toEqual(new Set([200]))
  expect(await closing).toBe(true)
  expect(performance.now() - start).toBeLessThan(4000)
  expect(dataSource.isInitialized).toBe(false)
})

test('the process does not note connections any more when all data sources are closed', async () => {
  const { server, dataSource } = await open(0)
  expect(hasSubscribers('http.server.request.start')).toBe(true)
  await closeGracefully(server, dataSource)
  expect(hasSubscribers('http.server.request.start')).toBe(false)
})

test('requests that take longer than the limit are aborted', async () => {
  const { server, dataSource, url } = await open(60_000)
  const hanging = fetchStatus(url, keepAlive())
  await new Promise((resolve) => server.once('request', resolve))
  expect(await closeGracefully(server, dataSource, { timeout: 100 })).toBe(false)
  expect(await hanging).toBe('ECONNRESET')
  expect(dataSource.isInitialized).toBe(false)
})

describe('a slow client', () => {
  const size = 20_000_000
  const Text = new EntitySchema({
    name: 'Text',
    columns: { id: { type: Number, primary: true, generated: true }, text: { type: 'text' } },
  })

  /** Reads a response in small steps. @returns the number of its bytes, when the connection is closed */
  const readSlowly = (socket: Socket): Promise<number> =>
    new Promise((resolve) => {
      let received = 0
      socket.on('error', () => undefined).once('close', () => resolve(received))
      socket.on('data', (chunk) => {
        received += chunk.length
        socket.pause()
        setTimeout(() => socket.resume(), 5)
      })
    })

  test.each([
    ['a list', 'GET', ''],
    ['a write', 'POST', JSON.stringify({ text: 'b'.repeat(size) })],
  ])('receives the whole response to %s', async (_, method, body) => {
    const dataSource = await openDataSource([Text])
    await dataSource.getRepository(Text).insert({ text: 'a'.repeat(size) })
    const app = new Koa()
    const limits = { body: 2 * size, pageBytes: 2 * size }
    mountResources(app, dataSource, { limits, resources: [{ entity: Text, auth: () => anonymous }] })
    const server = createServer(app.callback())
    const { hostname, port } = new URL(await listen(server))
    const socket = connectTo(Number(port), hostname)
    const received = readSlowly(socket)
    const ended = new Promise((resolve) =>
      server.once('request', (__, response) => response.once('prefinish', resolve)),
    )
    const type = 'Content-Type: application/json'
    socket.write(
      `${method} /api/text/ HTTP/1.1\r\nHost: localhost\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await ended
    expect(await closeGracefully(server, dataSource)).toBe(true)
    expect(await received).toBeGreaterThan(size)
  })
})

test('a client that sends requests without waiting does not delay the shutdown, and every executed one has a response', async () => {
  const { server, dataSource, url } = await open(20)
  const { hostname, port, pathname } = new URL(url)
  let executed = 0
  server.on('request', (_, response) => response.once('prefinish', () => ++executed))
  const socket = connectTo(Number(port), hostname)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  const send = (): unknown => socket.write(`GET ${pathname} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  send()
  const timer = setInterval(send, 5)
  const closed = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(await closeGracefully(server, dataSource, { timeout: 1500 })).toBe(true)
  clearInterval(timer)
  await closed
  expect(text.split('HTTP/1.1 200 OK').length - 1).toBe(executed)
})

describe('several servers and data sources', () => {
  /** Opens a data source that is mounted at a path of an application. */
  async function mountAt(app: Koa, prefix: string): Promise<DataSource> {
    const dataSource = await openDataSource([Thing])
    mountResources(app, dataSource, { prefix, live: true, resources: [{ entity: Thing }] })
    return dataSource
  }

  /** Subscribes to a list. @returns a promise of the end of the stream, after its first event */
  const subscribe = (url: string): Promise<{ readonly end: Promise<unknown> }> =>
    new Promise((resolve, reject) => {
      get(url, { agent: keepAlive(), headers: { Accept: 'text/event-stream' } }, (incoming) => {
        const end = new Promise((ended) => incoming.once('end', () => ended('ended')).once('error', ended))
        incoming.once('data', () => resolve({ end }))
      }).on('error', reject)
    })

  test('a server with several data sources ends the live lists of all of them, and closes all of them', async () => {
    const app = new Koa()
    const dataSources = [await mountAt(app, '/one'), await mountAt(app, '/two')]
    const server = createServer(app.callback())
    const url = await listen(server)
    const streams = [await subscribe(`${url}/one/thing/`), await subscribe(`${url}/two/thing/`)]
    const closings = dataSources.map((dataSource) => closeGracefully(server, dataSource, { timeout: 60_000 }))
    expect(await Promise.all(closings)).toEqual([true, true])
    expect(await Promise.all(streams.map(({ end }) => end))).toEqual(['ended', 'ended'])
    expect(dataSources.map(({ isInitialized }) => isInitialized)).toEqual([false, false])
  })

  test('a data source with several servers is closed after the requests of all of them', async () => {
    const dataSource = await openDataSource([Thing])
    let proceed = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      proceed = resolve
    })
    const [idle, busy] = [new Koa(), new Koa()]
    busy.use(async (_, next) => gate.then(next))
    for (const app of [idle, busy]) mountResources(app, dataSource, { resources: [{ entity: Thing }] })
    const servers = [createServer(idle.callback()), createServer(busy.callback())] as const
    await listen(servers[0])
    const status = fetchStatus(`${await listen(servers[1])}/api/thing/`, keepAlive())
    await new Promise((resolve) => servers[1].once('request', resolve))
    const closed = new Promise((resolve) => servers[0].once('close', resolve))
    const closings = servers.map((server) => closeGracefully(server, dataSource, { timeout: 60_000 }))
    await closed
    await new Promise((resolve) => setTimeout(resolve, 100))
    proceed()
    expect(await status).toBe(200)
    expect(await Promise.all(closings)).toEqual([true, true])
    expect(dataSource.isInitialized).toBe(false)
  })
})

test('a server of HTTP/2, whose connections Node.js cannot close, finishes its requests', async () => {
  const dataSource = await openDataSource([Thing])
  const app = new Koa()
  mountResources(app, dataSource, { resources: [{ entity: Thing }] })
  const server = createHttp2Server(app.callback())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const request = client.request({ ':path': '/api/thing/' })
  const status = new Promise((resolve) => request.once('response', (headers) => resolve(headers[':status'])))
  await new Promise((resolve) => server.once('request', resolve))
  const closing = closeGracefully(server, dataSource, { timeout: 60_000 })
  request.resume().once('close', () => client.close())
  expect(await status).toBe(200)
  expect(await closing).toBe(true)
  expect(dataSource.isInitialized).toBe(false)
})
