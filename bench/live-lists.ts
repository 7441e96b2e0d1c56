/**
 * Measures the cost of live lists: `npm run bench:live`.
 *
 * - Statements and CPU time of a change with 1,000 subscribers of one list, and with 1,000 lists.
 * - The time from the commit to the event.
 * - Writes with and without live lists, and reads while other streams are idle. The ratios are from alternating windows of one run.
 *
 * `BENCH_POSTGRES_URL` adds PostgreSQL and its relay; the table `bench_card` is dropped. `BENCH_REDIS_URL` adds the relay
 * of Redis.
 */
import 'reflect-metadata'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, type ClientRequest, get, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import Koa from 'koa'
import { Column, DataSource, type DataSourceOptions, Entity, type Logger, PrimaryGeneratedColumn } from 'typeorm'
import { type MountOptions, mountResources, type Principal, Resource } from 'typeorm-resources'
import { median } from './report'
import { database } from './serve'

@Entity('bench_card')
@Resource({
  name: 'card',
  auth: ({ context }) => ({ id: context.get('X-User') }),
  // The lists of users whose names begin with "own" are not shared with other users. They have the same records.
  scope: ({ id }: Principal) => (String(id).startsWith('own') ? { owner__ne: String(id) } : true),
})
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) owner!: string
  @Column({ length: 40 }) title!: string
  @Column('int') version!: number
}

type Live = 'none' | 'alone' | 'postgres' | 'redis'

const { BENCH_SERVER, BENCH_POSTGRES_URL, BENCH_REDIS_URL = '' } = process.env
const cardCount = 200
const subscribers = Number(process.env['BENCH_SUBSCRIBERS'] ?? 1000)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 9)

/** Runs a server. It reports its CPU time, its number of statements, and the time of each commit. */
async function runServer(live: Live): Promise<void> {
  let statements = 0
  const logger = Object.fromEntries(
    ['logQuery', 'logQueryError', 'logQuerySlow', 'logSchemaBuild', 'logMigration', 'log'].map((name) => [
      name,
      name === 'logQuery' ? () => ++statements : () => undefined,
    ]),
  ) as unknown as Logger
  const dataSource = await openSource({ logger })
  const app = new Koa()
  const relay = live === 'redis' ? new Redis(BENCH_REDIS_URL) : 'postgres'
  const options: MountOptions = {
    live: live === 'none' ? false : live === 'alone' ? true : { relay },
    limits: { liveLists: 2 * subscribers, liveListsPerClient: 2 * subscribers },
  }
  const mounted = mountResources(app, dataSource, options)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.({ port: (server.address() as AddressInfo).port })
  process.on('message', (message) => {
    if (message === 'commits') return void mounted.on('change', () => process.send?.({ at: now() }))
    const { user, system } = process.cpuUsage()
    process.send?.({ cpu: (user + system) / 1000, statements })
  })
  process.on('disconnect', () => process.exit())
}

function openSource(options: object, target = database): Promise<DataSource> {
  const isPostgres = target.startsWith('postgres')
  return new DataSource({
    ...(isPostgres ? { type: 'postgres', url: target } : { type: 'better-sqlite3', database: target, enableWAL: true }),
    entities: [Card],
    ...options,
  } as DataSourceOptions).initialize()
}

/** Time in milliseconds, from a clock that is the same for all processes. */
const now = (): number => performance.timeOrigin + performance.now()

interface Running {
  readonly child: ChildProcess
  readonly origin: string
  readonly usage: () => Promise<Usage>
}

interface Usage {
  /** CPU time in milliseconds. */
  readonly cpu: number
  readonly statements: number
}

async function start(live: Live, target: string): Promise<Running> {
  const env = { ...process.env, NODE_ENV: 'production', BENCH_SERVER: live, BENCH_DATABASE: target }
  const child = fork(String(process.argv[1]), { env })
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  return {
    child,
    origin: `http://127.0.0.1:${port}`,
    usage: async () => {
      child.send('usage')
      const [usage] = (await once(child, 'message')) as [Usage]
      return usage
    },
  }
}

/** Clients that count the events that they receive. */
class Subscribers {
  events = 0
  #buffer = ''
  readonly #requests: ClientRequest[] = []

  /** @param onEvent is called with the versions that the first client receives */
  constructor(readonly onEvent: (version: number, at: number) => void = () => undefined) {}

  async open({ origin }: Running, count: number, userOf: (index: number) => string): Promise<void> {
    for (let begin = 0; begin < count; begin += 50) {
      const indexes = Array.from({ length: Math.min(50, count - begin) }, (_, index) => begin + index)
      await Promise.all(indexes.map((index) => this.#open(`${origin}/api/card/`, userOf(index), index === 0)))
    }
  }

  close(): void {
    for (const one of this.#requests) one.destroy()
  }

  async untilEvents(count: number): Promise<void> {
    for (let wait = 0; this.events < count; wait++) {
      if (wait > 10_000) throw new Error(`${this.events} of ${count} events have arrived`)
      await sleep(2)
    }
  }

  #open(url: string, user: string, isFirst: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = { Accept: 'text/event-stream', 'X-User': user }
      const outgoing = get(url, { agent: false, headers }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${url}: status ${response.statusCode}`))
        response.on('error', () => undefined)
        response.setEncoding('latin1').on('data', (text: string) => {
          this.events += text.split('event: updated').length - 1
          if (isFirst) this.#report(text)
          // The first event contains the list.
          if (text.includes('event: reset')) resolve()
        })
      })
      outgoing.on('error', reject)
      this.#requests.push(outgoing)
    })
  }

  #report(text: string): void {
    this.#buffer = (this.#buffer + text).slice(-4096)
    for (const [, version] of text.matchAll(/event: updated\ndata: \{[^\n]*"version":(\d+)/g)) {
      this.onEvent(Number(version), now())
    }
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

function send({ origin }: Running, method: string, path: string, body?: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'X-User': 'writer' }
    const outgoing = request(`${origin}${path}`, { method, agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${method} ${path}: status ${response.statusCode}`))
      response.resume().on('end', resolve)
    })
    outgoing.on('error', reject)
    outgoing.end(body && JSON.stringify(body))
  })
}

let version = 0
const change = (server: Running): Promise<void> =>
  send(server, 'PATCH', `/api/card/${1 + (++version % cardCount)}/`, { version })

/** Statements and CPU time of a change, until all subscribers have received its event. */
async function costOfChange(server: Running, clients: Subscribers, count: number, changes: number): Promise<string> {
  const { events } = clients
  const before = await server.usage()
  for (let index = 1; index <= changes; index++) {
    await change(server)
    await clients.untilEvents(events + index * count)
  }
  const after = await server.usage()
  const each = (after.cpu - before.cpu) / changes
  const statements = (after.statements - before.statements) / changes
  const perEvent = count === 0 ? '' : `, ${((1000 * each) / count).toFixed(1)} µs for each event`
  return `${statements.toFixed(1)} statements, ${each.toFixed(2)} ms of CPU${perEvent}`
}

async function compareSubscribers(title: string, target: string): Promise<void> {
  const server = await start('alone', target)
  const none = new Subscribers()
  await costOfChange(server, none, 0, 20)
  console.log(`${title}, a change without subscribers: ${await costOfChange(server, none, 0, 100)}`)
  const works = [
    { name: `1 subscriber`, count: 1, userOf: () => 'root' },
    { name: `${subscribers} subscribers of one list`, count: subscribers, userOf: () => 'root' },
    { name: `${subscribers} lists`, count: subscribers, userOf: (index: number) => `own${index}` },
  ]
  for (const { name, count, userOf } of works) {
    const clients = new Subscribers()
    await clients.open(server, count, userOf)
    await costOfChange(server, clients, count, 2)
    console.log(`${title}, a change with ${name}: ${await costOfChange(server, clients, count, 10)}`)
    clients.close()
    await sleep(500)
  }
  server.child.disconnect()
}

/** Measures the time from a commit to the event that a client receives, from the same process or from another one. */
async function latency(title: string, live: Live, target: string, processes: number): Promise<void> {
  const servers = await Promise.all(Array.from({ length: processes }, () => start(live, target)))
  const [writer, reader] = [servers[0], servers.at(-1)] as [Running, Running]
  const commits: number[] = []
  const times: number[] = []
  let isReceived = (): void => undefined
  const clients = new Subscribers((_, at) => {
    times.push(at)
    isReceived()
  })
  await clients.open(reader, 1, () => 'root')
  writer.child.send('commits')
  writer.child.on('message', ({ at }: { at?: number }) => {
    if (at !== undefined) commits.push(at)
  })
  // Time for the relay to connect.
  await sleep(1000)
  const count = 200
  for (let index = 0; index < count; index++) {
    const received = new Promise<void>((resolve) => {
      isReceived = resolve
    })
    await change(writer)
    await received
    await sleep(3)
  }
  await sleep(100)
  const delays = times.map((at, index) => at - (commits[index] ?? 0)).toSorted((a, b) => a - b)
  const p99 = delays[Math.floor(delays.length * 0.99)] ?? 0
  console.log(`${title}: commit to event ${median(delays).toFixed(1)} ms median, ${p99.toFixed(1)} ms p99`)
  clients.close()
  for (const { child } of servers) child.disconnect()
}

/** Compares the CPU time that servers need for the same work, in alternating windows. Prints ratios to the first server. */
async function alternate(
  title: string,
  servers: ReadonlyMap<string, Running>,
  work: (server: Running) => Promise<void>,
): Promise<void> {
  const figures = new Map([...servers.keys()].map((name) => [name, [] as number[]]))
  const repeats = 100
  for (let round = -2; round < rounds; round++) {
    for (const [name, server] of [...servers].toSorted(() => Math.random() - 0.5)) {
      const before = await server.usage()
      for (let repeat = 0; repeat < repeats; repeat++) await work(server)
      const cpu = ((await server.usage()).cpu - before.cpu) / repeats
      if (round >= 0) figures.get(name)?.push(cpu)
    }
  }
  const [first = []] = figures.values()
  for (const [name, values] of figures) {
    const ratio = median(values.map((value, round) => value / (first[round] ?? value)))
    console.log(`${title}, ${name}: ${median(values).toFixed(3)} ms of CPU, ${ratio.toFixed(3)} of the first one`)
  }
}

async function compareWrites(title: string, lives: readonly Live[], target: string): Promise<void> {
  const servers = new Map<string, Running>()
  for (const live of lives) servers.set(`live lists: ${live}`, await start(live, target))
  await alternate(`${title}, PATCH`, servers, change)
  for (const { child } of servers.values()) child.disconnect()
}

async function compareReads(title: string, target: string): Promise<void> {
  const idle = subscribers / 2
  const servers = new Map([
    ['no streams', await start('alone', target)],
    [`${idle} idle streams`, await start('alone', target)],
  ])
  const clients = new Subscribers()
  await clients.open([...servers.values()][1] as Running, idle, (index) => `own${index % 20}`)
  await alternate(`${title}, GET of 20`, servers, (server) => send(server, 'GET', '/api/card/'))
  clients.close()
  for (const { child } of servers.values()) child.disconnect()
}

async function prepare(target: string): Promise<void> {
  const source = await openSource({}, target)
  const cards = source.getRepository(Card)
  // In a new table, the keys begin at 1 in each run.
  await source.query('DROP TABLE IF EXISTS bench_card')
  await source.synchronize()
  const rows = Array.from({ length: cardCount }, (_, index) => ({
    owner: `user${index % 20}`,
    title: `Card ${index} of the board`,
    version: 0,
  }))
  await cards.insert(rows)
  await source.destroy()
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const sqlite = join(folder, 'cards.sqlite')
  for (const target of [sqlite, ...(BENCH_POSTGRES_URL === undefined ? [] : [BENCH_POSTGRES_URL])]) {
    const title = target === sqlite ? 'sqlite' : 'postgres'
    const relays: readonly Live[] = [
      ...(target === sqlite ? [] : ['postgres' as const]),
      ...(BENCH_REDIS_URL === '' || target === sqlite ? [] : ['redis' as const]),
    ]
    await prepare(target)
    await compareSubscribers(title, target)
    await latency(`${title}, one process`, 'alone', target, 1)
    for (const relay of relays) await latency(`${title}, two processes, relay ${relay}`, relay, target, 2)
    await compareWrites(title, ['none', 'alone', ...relays], target)
    await compareReads(title, target)
  }
  rmSync(folder, { recursive: true })
  agent.destroy()
}

void (BENCH_SERVER === undefined ? main() : runServer(BENCH_SERVER as Live))
