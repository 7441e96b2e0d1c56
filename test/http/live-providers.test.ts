import { createServer, type Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { createLiveMethods, type RealtimeEvent } from '../../src/admin/react-admin'
import { createLiveProvider } from '../../src/admin/refine'
import { listen } from '../support/listen'
import { type LiveWorld, openLiveWorld } from '../support/live-world'

/** Subscriptions of Refine and of ra-realtime to live lists. */

let world: LiveWorld
let server: Server
let baseUrl: string
/** Requests: path, and whether the connection is open. */
let requests: { readonly path: string; isOpen: boolean }[]
let errors: unknown[]
beforeEach(async () => {
  world = await openLiveWorld()
  server = createServer(world.app.callback())
  baseUrl = `${await listen(server)}/api`
  requests = []
  errors = []
})
afterEach(async () => {
  // After an aborted request, `fetch` of Node.js opens a connection on which it sends nothing.
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
  await world.close()
})

const headers = { 'X-User': 'ann:red' }
const recording: typeof fetch = async (input, init) => {
  const request = { path: String(input).slice(`${baseUrl}/`.length), isOpen: true }
  requests.push(request)
  init?.signal?.addEventListener('abort', () => {
    request.isOpen = false
  })
  return fetch(input, init)
}
const options = { headers, fetch: recording, onError: (error: unknown) => void errors.push(error) }

const create = async (fields: object = {}): Promise<number> => {
  const reply = await world.request('POST task/', { title: 'one', project_id: 1, ...fields })
  return (reply.json() as { id: number }).id
}

interface Received {
  readonly type: string
  readonly payload: { readonly ids?: readonly unknown[] }
}
/** Events of a subscription, without their date and name. */
class Events {
  readonly #events: Received[] = []
  readonly receive = (event: Received): void => void this.#events.push(event)
  /** Waits for events, and removes and returns their types and ids. */
  async take(count: number): Promise<readonly unknown[]> {
    for (const end = Date.now() + 5000; this.#events.length < count && Date.now() < end; ) await pause(5)
    return this.#events.splice(0).map(({ type, payload }) => [type, payload.ids])
  }
}

const pathsNow = (): readonly unknown[] => requests.map(({ path, isOpen }) => [path, isOpen])

describe('Refine', () => {
  const channel = 'resources/task'

  test('a subscription receives the changes of the records of a resource', async () => {
    const { subscribe, unsubscribe } = createLiveProvider(baseUrl, options)
    const events = new Events()
    const subscription = subscribe({ channel, types: ['*'], callback: events.receive })
    await subscription.begun
    const id = await create()
    expect(await events.take(1)).toEqual([['created', [id]]])
    await world.request(`PATCH task/${id}/`, { title: 'two' })
    expect(await events.take(1)).toEqual([['updated', [id]]])
    await world.request(`DELETE task/${id}/`)
    expect(await events.take(1)).toEqual([['deleted', [id]]])
    unsubscribe(subscription)
    await create()
    await pause(100)
    expect(await events.take(0)).toEqual([])
    expect([pathsNow(), errors]).toEqual([[['task/', false]], []])
  })

  test('an event has the channel, the ids and the date; the records of one write are one event', async () => {
    const { subscribe, unsubscribe } = createLiveProvider(baseUrl, options)
    const received: unknown[] = []
    const subscription = subscribe({ channel, types: ['*'], callback: (event) => void received.push(event) })
    await subscription.begun
    const records = [1, 2, 3].map((cost) => ({ title: 'one', project_id: 1, cost }))
    await world.request('POST task/', records)
    for (const end = Date.now() + 5000; received.length === 0 && Date.now() < end; ) await pause(5)
    await pause(50)
    const ids = [1, 2, 3]
    expect(received).toEqual([{ channel, type: 'created', payload: { ids }, date: expect.any(Date) }])
    unsubscribe(subscription)
  })

  test('types and ids restrict the events; the subscriptions of a resource share a connection', async () => {
    const [first, second] = [await create(), await create()]
    const { subscribe, unsubscribe } = createLiveProvider(baseUrl, options)
    const [all, ofFirst, deleted] = [new Events(), new Events(), new Events()]
    const subscriptions = [
      subscribe({ channel, types: ['*'], callback: all.receive }),
      // Ids in paths are strings.
      subscribe({ channel, types: ['*'], params: { ids: [String(first)] }, callback: ofFirst.receive }),
      subscribe({ channel, types: ['deleted'], callback: deleted.receive }),
    ]
    await subscriptions[0]?.begun
    for (const id of [first, second]) {
      await world.request(`PATCH task/${id}/`, { title: 'two' })
      expect(await all.take(1)).toEqual([['updated', [id]]])
    }
    await world.request(`DELETE task/${second}/`)
    expect(await all.take(1)).toEqual([['deleted', [second]]])
    expect([await ofFirst.take(0), await deleted.take(0)]).toEqual([[['updated', [first]]], [['deleted', [second]]]])
    expect(pathsNow()).toEqual([['task/', true]])
    for (const subscription of subscriptions) unsubscribe(subscription)
    expect(pathsNow()).toEqual([['task/', false]])
  })

  test('after a change of very many records, any record may have changed', async () => {
    const { subscribe, unsubscribe } = createLiveProvider(baseUrl, options)
    const events = new Events()
    const subscription = subscribe({ channel, types: ['deleted'], params: { ids: [1] }, callback: events.receive })
    await subscription.begun
    const records = Array.from({ length: 600 }, () => ({ title: 'one', project_id: 1 }))
    await world.request('POST task/', records)
    expect(await events.take(1)).toEqual([['updated', []]])
    unsubscribe(subscription)
  })

  test('a refusal is passed to onError, and a later subscription asks again', async () => {
    const { subscribe, unsubscribe } = createLiveProvider(baseUrl, options)
    for (const count of [1, 2]) {
      const subscription = subscribe({ channel: 'resources/nothing', types: ['*'], callback: () => undefined })
      await subscription.begun
      expect(errors).toHaveLength(count)
      unsubscribe(subscription)
    }
    expect(errors).toEqual(Array(2).fill(expect.objectContaining({ status: 404 })))
  })

  test('a channel without a resource is an error', () => {
    const { subscribe } = createLiveProvider(baseUrl, options)
    expect(() => subscribe({ channel: 'task', types: ['*'], callback: () => undefined })).toThrow(
      'unknown channel "task"; channels: resources/<resource>',
    )
  })
})

describe('ra-realtime', () => {
  test('a callback receives the changes of a list and of a record', async () => {
    const [first, second] = [await create(), await create()]
    const { subscribe, unsubscribe } = createLiveMethods(baseUrl, options)
    const [list, record] = [new Events(), new Events()]
    const received: RealtimeEvent[] = []
    const note = (event: RealtimeEvent): void => void received.push(event)
    await Promise.all([
      subscribe('resource/task', list.receive),
      subscribe(`resource/task/${first}`, record.receive),
      subscribe(`resource/task/${first}`, note),
    ])
    expect(pathsNow()).toEqual([
      ['task/', true],
      [`task/${first}/`, true],
    ])
    await world.request(`PATCH task/${second}/`, { title: 'two' })
    expect(await list.take(1)).toEqual([['updated', [second]]])
    await world.request(`DELETE task/${first}/`)
    expect([await list.take(1), await record.take(1)]).toEqual([[['deleted', [first]]], [['deleted', [first]]]])
    const topic = `resource/task/${first}`
    expect(received).toEqual([{ topic, type: 'deleted', payload: { ids: [first] }, date: expect.any(Date) }])
    await unsubscribe('resource/task', list.receive)
    await unsubscribe(topic, record.receive)
    await unsubscribe(topic, record.receive)
    expect(pathsNow()).toEqual([
      ['task/', false],
      [`task/${first}/`, true],
    ])
    await unsubscribe(topic, note)
    expect(pathsNow().at(-1)).toEqual([`task/${first}/`, false])
    expect(errors).toEqual([])
  })

  test('a subscription to a record that does not exist is refused', async () => {
    const { subscribe } = createLiveMethods(baseUrl, options)
    await subscribe('resource/task/999', () => undefined)
    expect(errors).toEqual([expect.objectContaining({ status: 404 })])
  })

  test('a topic of another form is an error', async () => {
    const { subscribe } = createLiveMethods(baseUrl, options)
    await expect(subscribe('locks/task', () => undefined)).rejects.toThrow(
      'unknown topic "locks/task"; topics: resource/<resource>, resource/<resource>/<id>',
    )
  })
})
