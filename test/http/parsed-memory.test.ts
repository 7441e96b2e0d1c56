import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import type { Middleware } from 'koa'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { openPaused } from '../support/paused-client'
import { MiB, Story } from '../support/texts'
import { openWorld, type World } from '../world/world'

/** Bodies whose values take much more memory than their text. */

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Chart {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'simple-json', nullable: true }) points!: unknown
}

const requests = new EventEmitter()
const announce: Middleware = async (_, next) => {
  await next()
  requests.emit('answered')
}

let world: World
let socket: Socket
/** A client does not read its response, so that the process holds a megabyte less than it may. */
beforeAll(async () => {
  world = await openWorld({
    entities: [Chart, Story],
    mount: { limits: { responseBytes: 16 * MiB }, batch: 600, mcp: true },
    before: (app) => app.use(announce),
  })
  await world.dataSource.getRepository(Story).insert([{ body: 'z'.repeat(15 * MiB) }])
  await world.dataSource.getRepository(Chart).insert([{ points: 1 }])
  const get = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'
  socket = (await Promise.all([openPaused(world.url, get), once(requests, 'answered')]))[0]
})
afterAll(async () => {
  socket.destroy()
  await world.close()
  expect(world.faults).toEqual([])
})

const agentHeaders = { Accept: 'application/json, text/event-stream' }
const callOf = (values: unknown): object => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name: 'create', arguments: { resource: 'chart', values } },
})
const post = (path: string, body: unknown): readonly [line: string, body: unknown] => [`POST /api/${path}`, body]

/** Requests with a value of a JSON column. */
const writes: readonly (readonly [name: string, (points: unknown) => readonly [line: string, body: unknown]])[] = [
  ['a POST', (points) => post('chart/', { points })],
  ['a POST of an array', (points) => post('chart/', [{}, { points }])],
  ['a PUT', (points) => ['PUT /api/chart/1/', { points }]],
  ['a PATCH of several records', (points) => ['PATCH /api/chart/?id=1', { points }]],
  ['a batch', (points) => post('-/batch', [{ method: 'POST', path: '/api/chart/', body: { points } }])],
  ['a tool of agents', (points) => post('-/mcp', callOf({ points }))],
]
const outcome = ({ status, text }: Reply): string => (text.includes('"isError":true') ? 'refused' : String(status))

test('a batch with many operations is refused if there is not enough memory for the requests that they become', async () => {
  const statusOf = async (length: number): Promise<number> => {
    const operations = Array(length).fill({ method: 'DELETE', path: '/api/chart/99/' })
    return (await send(world.url, 'POST /api/-/batch', { body: operations })).status
  }
  expect([await statusOf(10), await statusOf(600)]).toEqual([404, 503])
})

test.each(writes)('%s is refused if there is not enough memory for its values', async (_, requestOf) => {
  const count = (): Promise<number> => world.dataSource.getRepository(Chart).count()
  const write = async (points: unknown): Promise<Reply> => {
    const [line, body] = requestOf(points)
    return send(world.url, line, { body, headers: agentHeaders })
  }
  expect(outcome(await write('x'.repeat(60_000)))).toMatch(/^20[01]$/)
  const before = await count()
  const refused = await write(Array(19_000).fill({}))
  expect([refused.status, refused.headers['retry-after'], refused.text]).toEqual([
    503,
    '1',
    expect.stringContaining('responseBytes'),
  ])
  expect(await count()).toBe(before)
})
