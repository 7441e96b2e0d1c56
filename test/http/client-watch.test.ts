import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type Client, createClient, ResourceError } from 'typeorm-resources/client'
import { listen } from '../support/listen'
import { type Comment, type LiveWorld, openLiveWorld, type Project, Task } from '../support/live-world'
import { rejection } from '../support/rejection'

/** The method `watch` of the typed client. */

interface Resources {
  task: Task
  project: Project
  comment: Comment
}

let world: LiveWorld
let server: Server
let api: Client<Resources>
/** Requests of the client since the last call of `takeRequests`. */
const requests: IncomingMessage[] = []
/** Open responses with events. */
const streams = new Set<ServerResponse>()
/** Respond to the next requests instead of the service; undefined for the service. */
const listeners: (RequestListener | undefined)[] = []

beforeEach(async () => {
  world = await openLiveWorld()
  const service = world.app.callback()
  server = createServer((request, response) => {
    requests.push(request)
    if (request.headers.accept === 'text/event-stream') {
      streams.add(response)
      response.once('close', () => streams.delete(response))
    }
    const listener = listeners.shift() ?? service
    listener(request, response)
  })
  api = createClient<Resources>(`${await listen(server)}/api`, { headers: { 'X-User': 'ann:red' } })
})
afterEach(async () => {
  requests.splice(0)
  listeners.splice(0)
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
  await world.close()
})

const takeRequests = (): readonly string[] =>
  requests.splice(0).map(({ url = '', headers }) => {
    const name = headers.accept === 'text/event-stream' ? 'events' : 'list'
    return `${name} ${decodeURIComponent(url.slice('/api/'.length))}`
  })

const create = async (fields: object = {}): Promise<number> => {
  const reply = await world.request('POST task/', { title: 'one', project_id: 1, ...fields })
  expect(reply.status).toBe(201)
  return (reply.json() as { id: number }).id
}
const update = async (id: number, fields: object): Promise<void> => {
  expect((await world.request(`PATCH task/${id}/`, fields)).status).toBe(200)
}
const remove = async (id: number): Promise<void> => {
  expect((await world.request(`DELETE task/${id}/`)).status).toBe(204)
}

/** Reads lists until one meets a condition. */
async function until<Item>(
  lists: AsyncGenerator<Item, void, undefined>,
  condition: (list: Item) => boolean,
): Promise<Item> {
  for (;;) {
    const { value, done } = await lists.next()
    if (done) throw new Error('the lists have ended')
    if (condition(value)) return value
  }
}
const next = async <Item>(lists: AsyncGenerator<Item, void, undefined>): Promise<Item> => until(lists, () => true)
/** Waits until the client has closed all connections with events. */
async function waitForClose(milliseconds = 5000): Promise<void> {
  for (const end = Date.now() + milliseconds; streams.size > 0; await pause(5)) {
    if (Date.now() > end) throw new Error('the connection is not closed')
  }
}

test('the lists are the current one, then one after each change', async () => {
  const first = await create()
  const lists = api.task.watch({ done: false })
  const stored = await api.task.get(first)
  takeRequests()
  expect(await next(lists)).toEqual([stored])
  expect(takeRequests()).toEqual(['events task/?done=false&ordering=id'])
  const second = await create({ title: 'two' })
  expect((await next(lists)).map(({ id }) => id)).toEqual([first, second])
  await update(first, { title: 'changed' })
  const changed = await next(lists)
  expect(changed[0]).toEqual({ ...stored, title: 'changed' })
  await remove(first)
  const rest = await next(lists)
  expect(rest.map(({ id }) => id)).toEqual([second])
  expect(rest[0]).toBe(changed[1])
  await update(second, { done: true })
  expect(await next(lists)).toEqual([])
  // No change needs a further request.
  expect(takeRequests()).toEqual([])
  await lists.return()
  expect(world.faults).toEqual([])
})

test('the records keep the order of the service when a field of the ordering changes', async () => {
  const ids = [await create({ title: 'b' }), await create({ title: 'a' }), await create({ title: 'c' })]
  const lists = api.task.watch({}, { ordering: ['-title', 'id'], fields: ['done'] })
  const record = (index: number, title: string): object => ({ id: ids[index], title, done: false })
  expect(await next(lists)).toEqual([record(2, 'c'), record(0, 'b'), record(1, 'a')])
  await update(Number(ids[1]), { title: 'd' })
  expect(await next(lists)).toEqual([record(1, 'd'), record(2, 'c'), record(0, 'b')])
  await create({ title: 'bb' })
  expect((await next(lists)).map((one) => (one as { title?: string }).title)).toEqual(['d', 'c', 'bb', 'b'])
  await lists.return()
})

test('an ordering through a relation is kept when the related record is included', async () => {
  await world.request('POST project/', { team: 'red', name: 'b' })
  const [first, second] = [await create(), await create({ project_id: 3 })]
  const include = { project: { fields: ['name'] } } as const
  const lists = api.task.watch({}, { ordering: 'project__name', fields: ['title'], include })
  expect((await next(lists)).map(({ id, project }) => [id, project?.name])).toEqual([
    [first, ''],
    [second, 'b'],
  ])
  await world.request('PATCH project/1/', { name: 'c' })
  expect((await next(lists)).map(({ id, project }) => [id, project?.name])).toEqual([
    [second, 'b'],
    [first, 'c'],
  ])
  await lists.return()
})

test('with a limit, the first records are shown', async () => {
  const ids = [await create({ title: 'a' }), await create({ title: 'b' }), await create({ title: 'c' })]
  const lists = api.task.watch({}, { ordering: 'title', limit: 2 })
  const titles = async (): Promise<unknown> => (await next(lists)).map(({ title }) => title)
  expect(await titles()).toEqual(['a', 'b'])
  await remove(Number(ids[0]))
  expect(await titles()).toEqual(['b', 'c'])
  const last = await create({ title: 'd' })
  expect(await titles()).toEqual(['b', 'c'])
  await update(last, { title: 'bb' })
  expect(await titles()).toEqual(['b', 'bb'])
  await lists.return()
})

test('with a limit and sorted by id, updates of other records cause no request', async () => {
  const ids = [await create(), await create(), await create()]
  const lists = api.task.watch({}, { ordering: '-id', limit: 2 })
  expect((await next(lists)).map(({ id }) => id)).toEqual(ids.slice(1).toReversed())
  takeRequests()
  await update(Number(ids[0]), { title: 'not shown' })
  await update(Number(ids[1]), { title: 'shown' })
  expect((await next(lists)).map(({ title }) => title)).toEqual(['one', 'shown'])
  expect(takeRequests()).toEqual([])
  await lists.return()
})

test('a list has the records of all pages, and follows a change of very many records', async () => {
  const lists = api.task.watch({}, { fields: ['title'] })
  expect(await next(lists)).toEqual([])
  const records = Array.from({ length: 600 }, (_, index) => ({ title: `t${index}`, project_id: 1 }))
  expect((await world.request('POST task/', records.slice(0, 250))).status).toBe(201)
  await until(lists, ({ length }) => length === 250)
  expect((await world.request('POST task/', records)).status).toBe(201)
  const list = await until(lists, ({ length }) => length === 850)
  expect(list).toEqual(
    (await world.dataSource.getRepository(Task).find({ order: { id: 1 } })).map(({ id, title }) => ({ id, title })),
  )
  await lists.return()
})

test('a slow loop gets the newest list, and the changes of one write are sorted together', async () => {
  const id = await create({ title: 'zz' })
  const lists = api.task.watch({}, { fields: ['title'], ordering: '-title' })
  expect(await next(lists)).toHaveLength(1)
  takeRequests()
  for (let count = 0; count < 5; count++) await update(id, { title: `zz${count}` })
  await world.request(
    'POST task/',
    Array.from({ length: 50 }, () => ({ title: 'new', project_id: 1 })),
  )
  await pause(200)
  const list = await next(lists)
  expect([list.length, list[0]?.title]).toEqual([51, 'zz4'])
  expect(takeRequests()).toEqual(['list task/?ordering=-title&limit=100&after=&fields=id'])
  await update(id, { title: 'a' })
  expect((await next(lists)).at(-1)?.title).toBe('a')
  await lists.return()
})

test('an event that arrives while the list is sorted is applied to the list', async () => {
  const [first, second] = [await create(), await create()]
  const lists = api.task.watch({}, { fields: ['title'], ordering: ['title', 'id'] })
  expect(await next(lists)).toHaveLength(2)
  const service = world.app.callback()
  listeners.push((request, response) => {
    const end = response.end.bind(response)
    // The response has the records before these writes.
    response.end = ((...parameters: Parameters<typeof end>) => {
      const writes = async (): Promise<void> => {
        await update(first, { title: 'changed' })
        await remove(second)
        await pause(200)
        end(...parameters)
      }
      void writes()
      return response
    }) as typeof response.end
    service(request, response)
  })
  const third = await create()
  expect(await next(lists)).toEqual([
    { id: first, title: 'changed' },
    { id: third, title: 'one' },
  ])
  await lists.return()
})

test('a refusal of the request that sorts ends the lists', async () => {
  const lists = api.task.watch({}, { ordering: 'title' })
  expect(await next(lists)).toEqual([])
  listeners.push((_, response) => void response.writeHead(403).end())
  await create()
  expect((await rejection(next(lists), ResourceError)).status).toBe(403)
  await waitForClose()
})

describe('after the end of a connection', () => {
  const breakStreams = async (cut: (response: ServerResponse) => void): Promise<void> => {
    for (const response of streams) cut(response)
    await waitForClose()
  }

  test.each([
    ['the connection is reset', (response: ServerResponse) => response.socket?.resetAndDestroy()],
    ['the connection is closed', (response: ServerResponse) => response.destroy()],
    ['the response ends', (response: ServerResponse) => response.end()],
    ['the response ends within an event', (response: ServerResponse) => response.end('id: x.9\nevent: go')],
  ])('the missed events arrive: %s', async (_, cut) => {
    const id = await create()
    const lists = api.task.watch({}, { fields: ['title'] })
    expect(await next(lists)).toEqual([{ id, title: 'one' }])
    await update(id, { title: 'two' })
    expect(await next(lists)).toEqual([{ id, title: 'two' }])
    takeRequests()
    await breakStreams(cut)
    await update(id, { title: 'three' })
    expect(await next(lists)).toEqual([{ id, title: 'three' }])
    // The list is not read again.
    expect(takeRequests()).toEqual(['events task/?ordering=id&fields=title,id'])
    await lists.return()
  })

  test('the list is read again if the service does not have the missed events', async () => {
    const id = await create()
    const lists = api.task.watch({}, { fields: ['title'] })
    expect(await next(lists)).toEqual([{ id, title: 'one' }])
    listeners.push((request, response) => {
      expect(request.headers['last-event-id']).toMatch(/^.+\.\d+$/)
      delete request.headers['last-event-id']
      world.app.callback()(request, response)
    })
    await breakStreams((response) => response.destroy())
    await update(id, { title: 'two' })
    expect(await next(lists)).toEqual([{ id, title: 'two' }])
    await lists.return()
  })

  test.each<readonly [name: string, listener: RequestListener]>([
    ['503', (_, response) => void response.writeHead(503).end()],
    ['429', (_, response) => void response.writeHead(429).end()],
    ['a broken connection', ({ socket }) => void socket.destroy()],
  ])('a request is repeated after %s', async (_, listener) => {
    const id = await create()
    const lists = api.task.watch({}, { fields: ['title'], ordering: ['title', 'id'] })
    expect(await next(lists)).toEqual([{ id, title: 'one' }])
    // For the events, and for the order.
    listeners.push(listener, undefined, listener)
    await breakStreams((response) => response.destroy())
    const other = await create()
    expect(await until(lists, ({ length }) => length === 2)).toEqual(
      [id, other].map((each) => ({ id: each, title: 'one' })),
    )
    expect(listeners).toEqual([])
    await lists.return()
  })

  test('a refusal ends the lists', async () => {
    const lists = api.task.watch()
    expect(await next(lists)).toEqual([])
    listeners.push((_, response) => void response.writeHead(403).end())
    await breakStreams((response) => response.destroy())
    expect((await rejection(next(lists), ResourceError)).status).toBe(403)
    expect(await lists.next()).toEqual({ done: true, value: undefined })
    await waitForClose()
  })
})

test('events may arrive in pieces', async () => {
  const id = await create({ title: 'é' })
  listeners.push((_, response) => {
    const bytes = Buffer.from(
      `retry: 1000\n\n:\n\nid: s.1\nevent: reset\ndata: [{"id":${id},"title":"é"}]\n\nid: s.2\nevent: updated\ndata:{"id":${id},"title":"€\u2028"}\n\n`,
    )
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })
    const send = async (): Promise<void> => {
      for (const byte of bytes) {
        response.write(Buffer.of(byte))
        await pause(1)
      }
    }
    void send()
  })
  const lists = api.task.watch({}, { fields: ['title'] })
  expect(await until(lists, ([record]) => record?.title === '€\u2028')).toEqual([{ id, title: '€\u2028' }])
  await lists.return()
})

describe('the connection is closed', () => {
  test('when the loop ends', async () => {
    for await (const list of api.task.watch()) if (list.length === 0) break
    await waitForClose()
  })

  test('when the loop throws', async () => {
    const loop = async (): Promise<void> => {
      for await (const list of api.task.watch()) throw new Error(`refused ${list.length}`)
    }
    await expect(loop()).rejects.toThrow('refused 0')
    await waitForClose()
  })

  test('by return, also while next waits for a change', async () => {
    const lists = api.task.watch()
    expect(await next(lists)).toEqual([])
    const waiting = lists.next()
    expect(await lists.return()).toEqual({ done: true, value: undefined })
    expect(await waiting).toEqual({ done: true, value: undefined })
    await waitForClose()
  })

  test('by a signal, whose reason is thrown', async () => {
    const control = new AbortController()
    const lists = api.task.watch({}, { signal: control.signal })
    expect(await next(lists)).toEqual([])
    const waiting = lists.next()
    control.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await waitForClose()
  })

  test('by a signal between two connections', async () => {
    const control = new AbortController()
    const lists = api.task.watch({}, { signal: control.signal })
    expect(await next(lists)).toEqual([])
    for (const response of streams) response.destroy()
    await waitForClose()
    const waiting = lists.next()
    control.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })

  test('if it was not opened: nothing is requested before the first list is read', async () => {
    await api.task.watch().return()
    await expect(api.task.watch({}, { signal: AbortSignal.abort(new Error('enough')) }).next()).rejects.toThrow(
      'enough',
    )
    expect(takeRequests()).toEqual([])
  })
})

describe('errors before the first list are thrown', () => {
  test('a refusal', async () => {
    const error = await rejection(api.task.watch({ done: 'maybe' as never }).next(), ResourceError)
    expect([error.status, error.errors[0]?.field]).toEqual([400, 'done'])
  })

  test('a service that cannot be reached', async () => {
    listeners.push(({ socket }) => void socket.destroy())
    await expect(api.task.watch().next()).rejects.toThrow('fetch failed')
  })

  test('a service without live lists', async () => {
    const other = await openLiveWorld({ live: false })
    const client = createClient<Resources>(`${other.url}/api`, { headers: { 'X-User': 'ann:red' } })
    const error = await rejection(client.task.watch().next(), ResourceError)
    expect(error.message).toMatch(/is not a stream of events; the service needs the option "live"$/)
    await other.close()
  })
})
