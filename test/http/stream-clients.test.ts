import { once } from 'node:events'
import { Agent, get } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { send } from '../client'
import { heapInUse } from '../support/heap'
import { openPaused } from '../support/paused-client'
import { heldByStream, openStreamWorld, readingCount, type StreamWorld, until } from '../support/stream-world'
import { MiB } from '../support/texts'

/** Clients of streamed lists that read slowly or nothing, or that disconnect. */

let world: StreamWorld
const sockets: Socket[] = []
// Rows of 40 MB are inserted for each test.
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await world.close()
})

/** Requests all readings, and reads nothing. */
const pausedClient = async (client?: string): Promise<Socket> => {
  const socket = await world.openPaused(client)
  sockets.push(socket)
  return socket
}

const statusOf = async (path: string): Promise<number> => (await world.get(path)).status
/** Whether as many lists can be streamed at the same time as one client can have: half of `limits.streams`. */
const isFree = async (streams: number): Promise<boolean> => {
  const statuses = await Promise.all(Array.from({ length: streams }, () => statusOf('reading/?format=ndjson&limit=1')))
  return statuses.every((status) => status === 200)
}

/** Reads what a socket receives until it is closed. @returns its length, and whether it is complete */
const readAll = async (socket: Socket): Promise<{ length: number; isComplete: boolean }> => {
  let length = 0
  let end = ''
  socket.on('data', (chunk: Buffer) => {
    length += chunk.length
    end = chunk.toString('latin1').slice(-5)
  })
  socket.resume()
  while (!socket.closed) await setTimeout(20)
  return { length, isComplete: end === '0\r\n\r\n' }
}

/** Requests all readings, and reads them at a limited speed. @returns the number of lines; rejects if they are cut off */
const readSlowly = (chunkPause: number, client = '127.0.0.1'): Promise<number> =>
  new Promise((resolve, reject) => {
    const options = { agent: false, headers: { 'X-Forwarded-For': client } } as const
    const outgoing = get(`${world.url}/api/reading/?format=ndjson`, options, async (incoming) => {
      let lines = 0
      try {
        for await (const chunk of incoming) {
          for (const byte of chunk as Buffer) if (byte === 10) lines += 1
          if (chunkPause > 0) await setTimeout(chunkPause)
        }
        resolve(lines)
      } catch (error) {
        reject(error)
      }
    })
    outgoing.on('error', reject)
  })

test('a client that stops reading is disconnected after streamStall, and needs little memory until then', async () => {
  world = await openStreamWorld({ limits: { streams: 4, streamStall: 1500 } })
  await isFree(2)
  const heap = heapInUse()
  const start = performance.now()
  const clients = [await pausedClient(), await pausedClient()]
  await until(async () => (await world.busyConnections()) === 2 * heldByStream, 5000)
  await setTimeout(500)
  expect(heapInUse() - heap).toBeLessThan(10 * MiB)
  expect(await statusOf('reading/?format=ndjson&limit=1')).toBe(503)
  // One free stream is enough for the two lists of isFree if one ends before the other begins.
  await until(async () => world.lines.length >= clients.length && (await isFree(2)), 15_000)
  const elapsed = performance.now() - start
  expect(elapsed).toBeGreaterThan(1500)
  expect(elapsed).toBeLessThan(15_000)
  expect(await world.busyConnections()).toBe(0)
  for (const client of clients) {
    const received = await readAll(client)
    // The length too, because it tells whether the response was cut off.
    expect(received).toEqual({ length: expect.any(Number), isComplete: false })
    expect(received.length).toBeLessThan(readingCount * 2000)
  }
  expect(world.lines).toEqual(
    clients.map(() => expect.stringMatching(/^warn .*of reading was cut off: .*limits\.streamStall/)),
  )
  expect(world.faults).toEqual([])
})

test('if all lists are taken, a client without one gets the list of a client that receives too little', async () => {
  world = await openStreamWorld({ limits: { streams: 2, streamStall: 12_000 } })
  const slow = [await pausedClient('192.0.2.1'), await pausedClient('192.0.2.2')]
  const start = performance.now()
  const statusFor = async (client: string) => (await world.get('reading/?format=ndjson&limit=1', client)).status
  expect(await statusFor('192.0.2.3')).toBe(503)
  await until(async () => (await statusFor('192.0.2.3')) === 200, 10_000)
  // After a third of `streamStall`, and before all of it.
  expect(performance.now() - start).toBeGreaterThan(4000)
  const cutOff = /^warn .*of reading was cut off: its client receives less than .*limits\.streams/
  expect(world.lines).toEqual([expect.stringMatching(cutOff)])
  // A free place is used first.
  expect(await statusFor('192.0.2.3')).toBe(200)
  expect(world.lines).toHaveLength(1)
  const received = await Promise.all(slow.map((client) => Promise.race([readAll(client), setTimeout(10_000)])))
  expect(received.filter((one) => one?.isComplete)).toHaveLength(1)
  expect(world.faults).toEqual([])
})

test('if all lists are taken, requests of one client at the same time end one list, and HEAD ends none', async () => {
  // The four lists use a connection each, HEAD needs another one, and one is kept free of transactions.
  world = await openStreamWorld({ limits: { streams: 4, streamStall: 9_000 } }, 6)
  const agent = new Agent({ keepAlive: true })
  const requestAtOnce = (path: string, headers = {}) =>
    Promise.all(Array.from({ length: 6 }, () => send(world.url, `GET /api/${path}`, { agent, headers })))
  // Opens the connections.
  await requestAtOnce('nothing/')
  for (const client of [1, 2, 3, 4]) await pausedClient(`192.0.2.${client}`)
  await setTimeout(4000)
  const headers = { 'X-Forwarded-For': '192.0.2.9' }
  expect((await send(world.url, 'HEAD /api/reading/?format=ndjson', { headers })).status).toBe(200)
  expect(world.lines).toEqual([])
  const replies = await requestAtOnce('reading/?format=ndjson&limit=1', headers)
  agent.destroy()
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 503, 503, 503, 503, 503])
  expect(world.lines.filter((line) => line.includes('another client needs its place'))).toHaveLength(1)
})

test('if all lists are taken, those of clients that receive enough are not ended, nor those of the same client', async () => {
  world = await openStreamWorld({ limits: { streams: 2, streamStall: 6000 } })
  const reading = Promise.all([readSlowly(8, '192.0.2.1'), readSlowly(8, '192.0.2.2')])
  const statuses = new Set<number>()
  let isReading = true
  reading.finally(() => {
    isReading = false
  })
  for (const start = performance.now(); isReading && performance.now() - start < 5000; await setTimeout(100)) {
    statuses.add((await world.get('reading/?format=ndjson&limit=1', '192.0.2.3')).status)
  }
  expect(statuses).toContain(503)
  expect(await reading).toEqual([readingCount, readingCount])
  expect(world.lines).toEqual([])

  await pausedClient('192.0.2.1')
  await pausedClient('192.0.2.2')
  await setTimeout(4000)
  expect((await world.get('reading/?format=ndjson&limit=1', '192.0.2.1')).status).toBe(503)
  expect(world.lines).toEqual([])
})

test('a client that does not read the end of a list is disconnected too', async () => {
  world = await openStreamWorld({ limits: { streams: 1, streamStall: 1000 } })
  const client = await pausedClient()
  client.resume()
  let length = 0
  await new Promise<void>((resolve) => {
    client.on('data', (chunk: Buffer) => {
      length += chunk.length
      // The rest fits into the buffers of the connection and the service.
      if (length > readingCount * 2000) resolve(void client.pause())
    })
  })
  await until(() => isFree(1), 5000)
  expect(await world.busyConnections()).toBe(0)
})

test('a client that reads slowly all the time is not disconnected', async () => {
  world = await openStreamWorld({ limits: { streamStall: 2000 } })
  const start = performance.now()
  expect(await readSlowly(8)).toBe(readingCount)
  expect(performance.now() - start).toBeGreaterThan(2000)
  expect(world.lines).toEqual([])
})

test.each([
  ['slow', 50, 1500],
  ['fast', 0, 50],
])('a list that takes longer than streamTime is cut off: %s client', async (_, chunkPause, streamTime) => {
  world = await openStreamWorld({ limits: { streamTime } })
  await expect(readSlowly(chunkPause)).rejects.toThrow(/aborted|ECONNRESET/)
  await until(async () => (await world.busyConnections()) === 0, 5000)
  expect(world.lines).toEqual([expect.stringContaining(`within ${streamTime} ms (limits.streamTime)`)])
  expect(world.faults).toEqual([])
})

test('when the client disconnects, the connection of the database is free again, and nothing is reported', async () => {
  world = await openStreamWorld({ limits: { streams: 1 } })
  for (const end of [(client: Socket) => client.destroy(), (client: Socket) => client.resetAndDestroy()]) {
    const client = await pausedClient()
    // Koa reports a client that disconnects before its response begins.
    await once(client.resume(), 'data')
    client.pause()
    await setTimeout(200)
    expect(await world.busyConnections()).toBe(heldByStream)
    end(client)
    await until(async () => (await world.busyConnections()) === 0, 10_000)
    await until(() => isFree(1), 10_000)
  }
  expect([world.faults, world.lines]).toEqual([[], []])
})

test('the number of streams is exact after hundreds of aborted ones', async () => {
  world = await openStreamWorld({ limits: { streams: 6 } }, 8)
  const abort = async (index: number): Promise<void> => {
    const path = `/api/reading/?format=${index % 2 === 0 ? 'csv' : 'ndjson'}`
    if (index % 10 === 0) return void (await send(world.url, `HEAD ${path}`))
    if (index % 10 === 1) return void (await send(world.url, `GET ${path}&page=2`))
    const client = await openPaused(world.url, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    // Before the response, at its start, and after some of it.
    if (index % 3 > 0) await Promise.race([once(client.resume(), 'data'), once(client, 'close')])
    if (index % 3 === 2) await setTimeout(5)
    client.destroy()
  }
  for (let index = 0; index < 300; index += 4) await Promise.all([0, 1, 2, 3].map((own) => abort(index + own)))
  await until(() => isFree(3), 5000)
  expect(await world.busyConnections()).toBe(0)
  for (let index = 0; index < 3; index++) await pausedClient()
  await setTimeout(500)
  expect(await statusOf('reading/?format=ndjson&limit=1')).toBe(503)
  expect(await world.busyConnections()).toBe(3 * heldByStream)
  expect([world.faults, world.lines]).toEqual([[], []])
})
