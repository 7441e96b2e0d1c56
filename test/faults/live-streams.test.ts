import { Agent, get, type IncomingMessage } from 'node:http'
import { send } from '../client'
import { heapInUse } from '../support/heap'
import { atEnd } from './cleanup'
import { Card, Deck } from './entities'
import { openSite, type Site } from './site'
import { byForm, logFigures, until } from './time'

/** Many open streams: they cost no memory over time, and when they end, nothing of them remains. */

const streams = 500
const changes = byForm({ short: 60, long: 2_000 })
const reconnects = byForm({ short: 200, long: 5_000 })
const mebibyte = 1024 * 1024

const warnings: Error[] = []
const onWarning = (warning: Error): void => void warnings.push(warning)
beforeAll(() => void process.on('warning', onWarning))
afterAll(() => void process.off('warning', onWarning))

let site: Site
beforeAll(async () => {
  site = await openSite({
    source: { type: 'better-sqlite3', database: ':memory:' },
    mount: { live: true, limits: { liveLists: streams, liveListsPerClient: streams, liveHeartbeat: 500 } },
  })
  atEnd(site.close)
  await site.dataSource.getRepository(Deck).insert({ shelf: 'left' })
  const cards = Array.from({ length: 50 }, () => ({ team: 'red', state: 'open', version: 0, deck: { id: 1 } }))
  await site.dataSource.getRepository(Card).insert(cards)
})

/** A client that counts what it receives, and keeps nothing. */
interface Client {
  readonly status: number | undefined
  readonly close: () => Promise<void>
}

const paths = ['card/', 'card/?state=open', 'card/?deck__shelf=left', 'card/1/', 'card/?include=deck']
let received = 0

function connect(index: number): Promise<Client> {
  const path = paths[index % paths.length] ?? ''
  const headers = { Accept: 'text/event-stream', 'X-User': `user${index % 50}:red` }
  return new Promise((resolve, reject) => {
    const outgoing = get(`${site.url}/api/${path}`, { agent: false, headers }, (response: IncomingMessage) => {
      response.on('data', (chunk: Buffer) => {
        received += chunk.length
      })
      response.on('error', () => undefined)
      const closed = new Promise<void>((done) => response.once('close', () => done()))
      resolve({
        status: response.statusCode,
        close: () => {
          outgoing.destroy()
          return closed
        },
      })
    })
    outgoing.once('error', reject)
  })
}

const openMany = (count: number): Promise<Client[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => connect(index)))

const agent = new Agent({ keepAlive: true })
atEnd(() => agent.destroy())

async function change(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const body = { version: time, state: time % 3 === 0 ? 'done' : 'open' }
    const line = `PATCH /api/card/${1 + (time % 50)}/`
    expect((await send(site.url, line, { body, agent, headers: { 'X-User': 'root' } })).status).toBe(200)
  }
}

const connectionsOf = (): Promise<number> =>
  new Promise((resolve) => site.server.getConnections((_, count) => resolve(count)))

test(`${streams} open streams use constant memory, and nothing of them remains`, async () => {
  let clients = await openMany(streams)
  expect(clients.map(({ status }) => status)).toEqual(clients.map(() => 200))
  const tooMany = await connect(0)
  expect(tooMany.status).toBe(503)
  await tooMany.close()
  await change(changes)
  for (let done = 0; done < 50; done += 1) await reconnect(clients, done)
  const before = heapInUse()
  await change(changes)
  for (let done = 0; done < reconnects; done += 1) await reconnect(clients, done)
  const growth = heapInUse() - before
  await Promise.all(clients.map((client) => client.close()))
  await until('the server has closed the connections', async () => (await connectionsOf()) <= 1)
  const freed = heapInUse()
  clients = await openMany(streams)
  // All places are free again.
  expect(clients.map(({ status }) => status)).toEqual(clients.map(() => 200))
  expect((await connect(0)).status).toBe(503)
  const each = (heapInUse() - freed) / streams
  await Promise.all(clients.map((client) => client.close()))
  await until('the server has closed the connections', async () => (await connectionsOf()) <= 1)
  // The last parts of closed streams are freed a little later.
  let left = Number.POSITIVE_INFINITY
  await until('the memory of the streams is free', () => {
    left = heapInUse() - freed
    return left < 4 * mebibyte
  })
  logFigures(`${streams} streams`, {
    'MiB received': Math.round(received / mebibyte),
    'growth in KiB': Math.round(growth / 1024),
    'KiB of each, with its client': Math.round(each / 1024),
    'KiB left at the end': Math.round(left / 1024),
  })
  expect(growth).toBeLessThan(4 * mebibyte)
  expect(warnings).toEqual([])
  expect(site.faults).toEqual([])
}, 600_000)

/** Closes a stream and opens it again. */
async function reconnect(clients: Client[], index: number): Promise<void> {
  const place = index % clients.length
  await clients[place]?.close()
  await until('there is a place', async () => {
    const client = await connect(place)
    clients[place] = client
    return client.status === 200
  })
}
