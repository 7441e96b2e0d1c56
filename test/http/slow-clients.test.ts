import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Middleware } from 'koa'
import bodyParser from 'koa-bodyparser'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, type MountOptions, Resource } from 'typeorm-resources'
import { send } from '../client'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

const open = () => anonymous
const KiB = 1024
const MiB = 1024 * KiB

@Entity()
@Resource({ auth: open })
class Story {
  @PrimaryGeneratedColumn() id!: number
  @Column(isMariadb ? 'longtext' : 'text') body!: string
}

@Entity()
@Resource({ auth: open })
class Plain {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') rank!: number
  @Column({ type: 'varchar', length: 100 }) title!: string
}

let world: World | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})
const openWith = async (limits: MountOptions['limits'] = {}): Promise<World> => {
  world = await openWorld({ entities: [Story, Plain], mount: { limits } })
  return world
}

/** A client that sends and does not read. */
const silent = async (url: string, text: string): Promise<Socket> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).pause()
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  return socket
}
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
const until = async (isSo: () => Promise<boolean>, milliseconds: number): Promise<void> => {
  for (const end = Date.now() + milliseconds; !(await isSo()); await pause(50))
    if (Date.now() > end) throw new Error('not so in time')
}

test('what clients do not take counts: more is 503 until it is taken, or its client was too slow', async () => {
  const opened = await openWith({ responseBytes: 32 * MiB })
  const body = 'z'.repeat(15 * MiB)
  await opened.dataSource.getRepository(Story).insert([{ body }])
  await opened.dataSource.getRepository(Plain).insert([{ rank: 1, title: 'a' }])
  const get = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'
  const statusOf = async (path: string): Promise<number> => (await send(opened.url, `GET /api/${path}/`)).status
  const sockets = [await silent(opened.url, get), await silent(opened.url, get)]
  await pause(1500)
  await until(async () => (await statusOf('story/1')) === 503, 5000)
  const refused = await send(opened.url, 'GET /api/story/1/')
  expect([refused.headers['retry-after'], refused.json()]).toMatchObject([
    '1',
    { detail: expect.stringContaining('33554432') },
  ])
  expect(await statusOf('plain')).toBe(200)
  // One of them takes its response.
  sockets[0]?.resume()
  await until(async () => (await statusOf('story/1')) === 200, 5000)
  // The other one has had its time when the memory is needed once more.
  const third = await silent(opened.url, get)
  await pause(1500)
  await until(async () => (await statusOf('story/1')) === 503, 5000)
  await until(async () => (await statusOf('story/1')) === 200, 15_000)
  for (const socket of [...sockets, third]) socket.destroy()
})

test('a response whose client goes while its record is read is not subtracted twice', async () => {
  let leave = (): void => undefined
  world = await openWorld({
    entities: [Story, Plain],
    mount: { limits: { responseBytes: MiB, pageBytes: MiB } },
    before: (app) => {
      app.use(({ req }, next) => {
        if (req.headers['x-leave'] !== undefined) leave = () => req.socket.destroy()
        return next()
      })
    },
  })
  const { url, dataSource } = world
  await dataSource.getRepository(Story).insert([{ body: 'z'.repeat(15 * MiB) }])
  const { logger } = dataSource
  const logQuery = logger.logQuery.bind(logger)
  let selects = 0
  logger.logQuery = (...query) => {
    // The first one says how long the record is, the second one reads it.
    if (query[0].includes('SELECT') && ++selects % 2 === 0) leave()
    return logQuery(...query)
  }
  for (let index = 0; index < 5; index++) {
    await expect(send(url, 'GET /api/story/1/', { headers: { 'x-leave': 'yes' } })).rejects.toThrow()
  }
  logger.logQuery = logQuery
  const socket = await silent(url, 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n')
  await pause(1500)
  await until(async () => (await send(url, 'GET /api/story/1/')).status === 503, 5000)
  socket.destroy()
})

test('a connection has the same listeners after many requests', async () => {
  const listeners: number[] = []
  world = await openWorld({
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

test('a write that is done is answered, whatever others hold; one that is not is 503', async () => {
  const opened = await openWith({ responseBytes: MiB })
  const body = 'z'.repeat(15 * MiB)
  await opened.dataSource.getRepository(Story).insert([{ body }])
  const socket = await silent(opened.url, 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n')
  const put = () => send(opened.url, 'PUT /api/story/1/', { body: { body: 'short' } })
  await pause(500)
  expect((await put()).status).toBe(503)
  expect((await opened.dataSource.getRepository(Story).findOneByOrFail({ id: 1 })).body).toHaveLength(body.length)
  socket.destroy()
  await until(async () => (await put()).status === 200, 5000)
})

test('requests that are sent without waiting are answered one after the other, as their responses are taken', async () => {
  const opened = await openWith()
  await opened.dataSource
    .getRepository(Story)
    .insert(Array.from({ length: 100 }, () => ({ body: 'p'.repeat(60 * KiB) })))
  opened.statements()
  const requests = 2000
  const socket = await silent(opened.url, 'GET /api/story/?limit=100 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests))
  await pause(1500)
  expect(opened.statements().length).toBeLessThan(6)
  expect((await send(opened.url, 'GET /api/story/1/')).status).toBe(200)
  socket.destroy()
  await pause(200)
  expect(opened.statements().length).toBeLessThan(6)
})

test('a connection may have some requests waiting, and those beyond are 503, in their order', async () => {
  const opened = await openWith({ pipelined: 3 })
  await opened.dataSource.getRepository(Plain).insert([{ rank: 1, title: 'a' }])
  const socket = await silent(
    opened.url,
    `${'GET /api/plain/1/ HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(6)}GET /api/plain/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  )
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  socket.resume()
  await once(socket, 'end')
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))).toEqual([
    ...[200, 200, 200, 200, 503, 503, 503],
  ])
})

/** Awaits longer for the first request of the application than for those behind it. */
const slowAtFirst = (): Middleware => {
  let requests = 0
  return async (_, next) => {
    requests += 1
    await pause(requests === 1 ? 300 : 0)
    return next()
  }
}

const before: Readonly<Record<string, () => Middleware>> = {
  'middleware that awaits longer for the first': slowAtFirst,
  'koa-bodyparser': bodyParser,
}

test.each(Object.entries(before))(
  'requests in one packet are answered in their order behind %s',
  async (_, middleware) => {
    world = await openWorld({ entities: [Story, Plain], before: (app) => app.use(middleware()) })
    const body = '{"rank":1,"title":"new"}'
    const post = `POST /api/plain/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const get = 'GET /api/plain/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const socket = await silent(world.url, post + get)
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
