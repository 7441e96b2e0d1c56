import { createServer, type RequestListener, type Server } from 'node:http'
import { type Client, type ClientOptions, createClient, ResourceError } from 'typeorm-resources/client'
import { keyed, type Plain, resetPeople, type Ticket } from '../support/idempotency'
import { listen } from '../support/listen'
import { rejection } from '../support/rejection'
import { openWorld, type World } from '../world/world'

/** The client's requests with an Idempotency-Key, some of which get no response, or another one than that of the service. */

interface Resources {
  ticket: Ticket
  plain: Plain
}

let world: World
let server: Server
let url: string
/** Listeners for the next requests. The service responds to others. */
const listeners: RequestListener[] = []
/** The keys of the requests. */
const keys: (string | undefined)[] = []
beforeAll(async () => {
  resetPeople()
  world = await openWorld({ entities: keyed, mount: { batch: true } })
  const service = world.app.callback()
  server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'] as string | undefined)
    const listener = listeners.shift() ?? service
    listener(request, response)
  })
  url = await listen(server)
})
afterAll(async () => {
  server.close()
  await world.close()
  expect(world.faults).toEqual([])
})
beforeEach(async () => {
  keys.length = 0
  listeners.length = 0
  await world.sql('DELETE FROM "plain"')
})

const clientOf = (options: ClientOptions = { idempotencyKeys: true }): Client<Resources> =>
  createClient<Resources>(`${url}/api`, { headers: { 'x-as': 'ann' }, ...options } as ClientOptions)
const count = async (): Promise<number> => (await world.sql('SELECT * FROM "plain"')).length

const respond =
  (status: number, headers: Readonly<Record<string, string>> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(status, headers).end()
const breakBefore: RequestListener = (request) => void request.socket.destroy()
/** Lets the service execute the request, and breaks the connection before the response, or in its body. */
const breakAfter =
  (isHeadSent: boolean): RequestListener =>
  (request, response) => {
    const end = response.end.bind(response)
    response.end = ((...parameters: Parameters<typeof end>) => {
      if (!isHeadSent) request.socket.destroy()
      else response.write(String(parameters[0]).slice(0, 5), () => request.socket.destroy())
      return response
    }) as typeof response.end
    world.app.callback()(request, response)
  }

test.each<[string, RequestListener]>([
  ['503', respond(503, { 'Retry-After': '0' })],
  ['409 while the first is running', respond(409, { 'Retry-After': '0' })],
  ['a connection that breaks before the request is executed', breakBefore],
  ['one that breaks after it', breakAfter(false)],
  ['one that breaks in the response', breakAfter(true)],
])('a POST with a key is repeated after %s, and executed once', async (_, listener) => {
  listeners.push(listener)
  expect(await clientOf().plain.create({ title: 'one' })).toMatchObject({ title: 'one' })
  expect([keys.length, new Set(keys).size, await count()]).toEqual([2, 1, 1])
  expect(keys[0]).toMatch(/^[\da-f-]{36}$/)
})

test.each([
  ['before it is executed', breakBefore],
  ['after it', breakAfter(false)],
])('a batch is repeated after a connection that breaks %s, and executed once', async (_, listener) => {
  listeners.push(listener)
  const created = await clientOf().$batch(({ plain }) => [
    plain.create({ title: 'one' }),
    plain.create({ title: 'two' }),
  ])
  expect(created).toMatchObject([{ title: 'one' }, { title: 'two' }])
  expect([keys.length, new Set(keys).size, await count()]).toEqual([2, 1, 2])
})

test('a batch without a key is not repeated', async () => {
  listeners.push(breakBefore)
  const sending = clientOf().$batch(({ plain }) => [plain.create({ title: 'one' })], { idempotencyKey: false })
  await expect(sending).rejects.toThrow()
  expect([keys, await count()]).toEqual([[undefined], 0])
})

test('each POST has another key, and other requests have none', async () => {
  const client = clientOf()
  const { id } = await client.plain.create({ title: 'one' })
  await client.plain.create({ title: 'two' })
  await client.plain.update(id, { score: 2 })
  await client.plain.list()
  expect([new Set(keys.slice(0, 2)).size, keys.slice(2)]).toEqual([2, [undefined, undefined]])
})

test('a key of the caller makes a repeated call get the first record', async () => {
  const client = clientOf({})
  const first = await client.plain.create({ title: 'one' }, { idempotencyKey: 'order-1' })
  expect(await client.plain.create({ title: 'one' }, { idempotencyKey: 'order-1' })).toEqual(first)
  expect(
    await rejection(client.plain.create({ title: 'two' }, { idempotencyKey: 'order-1' }), ResourceError),
  ).toMatchObject({
    status: 422,
    problem: { type: 'urn:typeorm-resources:idempotency-key-reused' },
  })
  expect([keys, await count()]).toEqual([['order-1', 'order-1', 'order-1'], 1])
})

test.each<[string, ClientOptions, object, RequestListener]>([
  ['without a key', {}, {}, breakBefore],
  ['with the key left out', { idempotencyKeys: true }, { idempotencyKey: false }, breakBefore],
  ['after a conflict', { idempotencyKeys: true }, {}, respond(409)],
  ['with retries: 0', { idempotencyKeys: true, retries: 0 }, {}, breakBefore],
])('a POST is not repeated %s', async (_, options, own, listener) => {
  listeners.push(listener)
  await expect(clientOf(options).plain.create({ title: 'one' }, own)).rejects.toThrow()
  expect([keys.length, await count()]).toEqual([1, 0])
})

test('the last error is thrown after two repetitions', async () => {
  const busy = respond(503, { 'Retry-After': '0' })
  listeners.push(busy, breakBefore, busy)
  const { status } = await rejection(clientOf().plain.create({ title: 'one' }), ResourceError)
  expect([status, keys.length]).toEqual([503, 3])
})

test('a signal aborts the wait before a repetition', async () => {
  const control = new AbortController()
  listeners.push((request, response) => {
    breakBefore(request, response)
    setTimeout(() => control.abort(new Error('enough')), 100)
  })
  const creating = clientOf().plain.create({ title: 'one' }, { signal: control.signal })
  await expect(creating).rejects.toThrow('enough')
  expect(keys).toHaveLength(1)
})
