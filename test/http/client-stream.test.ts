import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { AfterLoad, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Client, createClient, ResourceError } from 'typeorm-resources/client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { listen } from '../support/listen'
import { rejection } from '../support/rejection'
import { openWorld, type World } from '../world/world'

/** The method `stream` of the typed client. */

@Entity()
@Resource({ auth: permitAll, formats: ['ndjson'] })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) text!: string
  @Column('int') minutes!: number
}

/** Has a listener that fails for one record. */
@Entity()
@Resource({ auth: permitAll, formats: ['ndjson'] })
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') size!: number
  @AfterLoad() check(): void {
    if (this.size === 600) throw new Error('this card is broken')
  }
}

/** Has no formats. */
@Entity()
@Resource({ auth: permitAll })
class Plain {
  @PrimaryGeneratedColumn() id!: number
}

interface Resources {
  entry: Entry
  card: Card
  plain: Plain
}

const entryCount = 2500
let world: World
let server: Server
let api: Client<Resources>
/** Responds to the next request instead of the service. */
let respond: RequestListener | undefined
beforeAll(async () => {
  world = await openWorld({
    entities: [Entry, Card, Plain],
    seed: async (dataSource) => {
      // Characters of three bytes, so that the chunks of the response end within some of them.
      const entries = Array.from({ length: entryCount }, (_, index) => ({
        text: '€'.repeat(index % 60),
        minutes: index % 7,
      }))
      await insertRows(dataSource, Entry, entries)
      await insertRows(
        dataSource,
        Card,
        Array.from({ length: 900 }, (_, size) => ({ size })),
      )
    },
  })
  const service = world.app.callback()
  server = createServer((request, response) => {
    const listener = respond ?? service
    respond = undefined
    listener(request, response)
  })
  api = createClient<Resources>(`${await listen(server)}/api`)
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
  await world.close()
})

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

const ndjsonHeaders = { 'Content-Type': 'application/x-ndjson; charset=utf-8' }

/** Sends the start of a streamed list, then calls a function. */
const startWith =
  (text: string, then: (response: ServerResponse) => void): RequestListener =>
  (_, response) => {
    response.writeHead(200, ndjsonHeaders)
    response.write(text, () => then(response))
  }

test('a stream has the records of all pages', async () => {
  const streamed = await collect(api.entry.stream())
  expect(streamed).toHaveLength(entryCount)
  expect(streamed).toEqual(await collect(api.entry.all({}, { limit: 1000 })))
})

test('filters, ordering, fields and limit are those of a list', async () => {
  const filters = { minutes__gte: 5, or: [{ text__like: '€€%' }, { id__lt: 100 }] }
  const options = { ordering: ['-minutes', '-id'], fields: ['minutes'] } as const
  expect(await collect(api.entry.stream(filters, options))).toEqual(
    await collect(api.entry.all(filters, { ...options, limit: 500 })),
  )
  expect(await collect(api.entry.stream({}, { fields: ['minutes'], limit: 2 }))).toEqual([
    { id: 1, minutes: 0 },
    { id: 2, minutes: 1 },
  ])
  expect(await collect(api.entry.stream({ id: 0 }))).toEqual([])
})

test('a record arrives before the next one is sent', async () => {
  let open: ServerResponse | undefined
  respond = startWith('{"id":1}\n', (response) => {
    open = response
  })
  const records = api.entry.stream()
  expect(await records.next()).toEqual({ done: false, value: { id: 1 } })
  open?.end('{"id":2}\n')
  expect(await collect(records)).toEqual([{ id: 2 }])
})

describe('the request is cancelled', () => {
  /** Sends records until the connection is closed. @returns resolves when it is closed */
  const sendForever = (): Promise<boolean> =>
    new Promise((resolve) => {
      respond = (_, response) => {
        response.writeHead(200, ndjsonHeaders)
        const send = (): void => void response.write('{"id":1}\n'.repeat(1000), () => setImmediate(send))
        send()
        response.once('close', () => {
          resolve(response.writableFinished)
          response.destroy()
        })
      }
    })

  test('when the loop ends early', async () => {
    const closed = sendForever()
    for await (const { id } of api.entry.stream()) if (id === 1) break
    expect(await closed).toBe(false)
  })

  test('when the loop throws', async () => {
    const closed = sendForever()
    const loop = async (): Promise<void> => {
      for await (const { id } of api.entry.stream()) throw new Error(`refused ${id}`)
    }
    await expect(loop()).rejects.toThrow('refused 1')
    expect(await closed).toBe(false)
  })

  test('by a signal, whose reason is thrown', async () => {
    const closed = sendForever()
    const control = new AbortController()
    const loop = async (): Promise<void> => {
      for await (const _ of api.entry.stream({}, { signal: control.signal })) control.abort(new Error('enough'))
    }
    await expect(loop()).rejects.toThrow('enough')
    expect(await closed).toBe(false)
  })

  test('by a signal before the response', async () => {
    const control = new AbortController()
    respond = () => control.abort(new Error('enough'))
    await expect(collect(api.entry.stream({}, { signal: control.signal }))).rejects.toThrow('enough')
  })
})

describe('a part of a list is never taken for all of it', () => {
  test.each([
    ['the connection is closed', (response: ServerResponse) => response.destroy()],
    ['the connection is reset', ({ socket }: ServerResponse) => socket?.resetAndDestroy()],
  ])('%s after a whole record', async (_, cut) => {
    respond = startWith('{"id":1}\n{"id":2}\n', (response) => void setTimeout(cut, 50, response))
    const records = api.entry.stream()
    expect((await records.next()).value).toEqual({ id: 1 })
    expect((await records.next()).value).toEqual({ id: 2 })
    await expect(records.next()).rejects.toThrow('terminated')
  })

  test('the body ends within a record, without an error of the connection', async () => {
    respond = startWith('{"id":1}\n{"id":2}', (response) => response.end())
    const error = await rejection(collect(api.entry.stream()), ResourceError)
    expect(error.message).toMatch(/ends within a record$/)
  })

  test('a line is not JSON', async () => {
    respond = startWith('{"id":1}\n<p>502</p>\n', (response) => response.end())
    const error = await rejection(collect(api.entry.stream()), ResourceError)
    expect(error.message).toMatch(/is not JSON$/)
  })

  test('the service fails after the first records', async () => {
    const seen: number[] = []
    const loop = async (): Promise<void> => {
      for await (const { id } of api.card.stream({}, { ordering: 'id' })) seen.push(id)
    }
    await expect(loop()).rejects.toThrow('terminated')
    expect(seen.length).toBeLessThan(900)
  })
})

test('a resource without the format throws, and the response is cancelled', async () => {
  const error = await rejection(collect(api.plain.stream()), ResourceError)
  expect(error.message).toMatch(/is not NDJSON; the resource needs the option "formats"$/)
})

test('a refusal is a ResourceError with its problem document', async () => {
  const error = await rejection(collect(api.entry.stream({ minutes: 'many' as never })), ResourceError)
  expect([error.status, error.errors[0]?.field]).toEqual([400, 'minutes'])
})

test('a 503 with Retry-After is retried', async () => {
  respond = (_, response) => void response.writeHead(503, { 'Retry-After': '0' }).end()
  expect(await collect(api.entry.stream({}, { fields: ['minutes'], limit: 1 }))).toHaveLength(1)
})

test('nothing is requested before the first record is read', async () => {
  let requests = 0
  const count = (): number => ++requests
  server.on('request', count)
  const records = api.entry.stream()
  await records.return(undefined)
  server.off('request', count)
  expect(requests).toBe(0)
})
