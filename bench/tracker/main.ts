/**
 * What the views of the tracker's page cost: one request to the service, compared with the separate requests that a page needs without
 * includes, aggregates, counts and formats, and with endpoints written by hand: `npm run bench:tracker`. A client sends one request after the other.
 */
import 'reflect-metadata'
import { deepStrictEqual } from 'node:assert'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa from 'koa'
import { mountResources } from 'typeorm-resources'
import { login } from '../../sample/tracker/login'
import { trackerOptions } from '../../sample/tracker/options'
import { database, serve } from '../serve'
import { open, seed, username } from './data'
import { handwritten } from './handwritten'
import { type Screen, screens } from './screens'

async function service(): Promise<Koa> {
  const dataSource = await open(database)
  const app = new Koa()
  app.use(login(dataSource))
  mountResources(app, dataSource, trackerOptions)
  return app
}

const servers: Readonly<Record<string, () => Promise<Koa>>> = {
  service,
  handwritten: async () => handwritten(await open(database), database),
}

/** Client of a server with a token, on one connection. It counts requests and bytes of bodies. */
class Client {
  requests = 0
  bytes = 0
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #token = ''

  private constructor(
    readonly origin: string,
    readonly child: ChildProcess,
  ) {}

  static async start(name: string, file: string): Promise<Client> {
    const env = { ...process.env, NODE_ENV: 'production', BENCH_SERVER: name, BENCH_DATABASE: file }
    const child = fork(__filename, { env })
    const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
    const client = new Client(`http://127.0.0.1:${port}`, child)
    const body = new URLSearchParams({ username, password: username })
    client.#token = Object(await (await fetch(`${client.origin}/login`, { method: 'POST', body })).json()).access_token
    return client
  }

  async get(path: string): Promise<string> {
    const headers = { Authorization: `Bearer ${this.#token}` }
    const sent = request(this.origin + path, { agent: this.#agent, headers }).end()
    const [response] = await once(sent, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${body}`)
    this.requests++
    this.bytes += body.length
    return body.toString()
  }

  close(): void {
    this.#agent.destroy()
    this.child.disconnect()
  }
}

/** Ways to load a view. */
const ways: Readonly<Record<string, (screen: Screen, clients: readonly [Client, Client]) => Promise<unknown>>> = {
  'separate requests': ({ separate }, [own]) => separate((path) => own.get(`/api/${path}`)),
  'one request': ({ path }, [own]) => own.get(`/api/${path}`),
  'written by hand': ({ ownPath }, [, other]) => other.get(ownPath),
}

/** Fails if an endpoint written by hand does not have the data of the service. */
async function requireSameData({ path, ownPath }: Screen, [own, other]: readonly [Client, Client]): Promise<void> {
  const [expected, actual] = [await own.get(`/api/${path}`), await other.get(ownPath)]
  if (!actual.startsWith('{')) return deepStrictEqual(actual, expected)
  deepStrictEqual(comparable(JSON.parse(actual)), comparable(JSON.parse(expected)))
}

/** A response without what only the service has. */
function comparable({ meta, ...rest }: { readonly meta?: { readonly total?: number } }): unknown {
  const omitted = new Set(['comments_next', 'tags_next', 'project_id', 'assignee_id'])
  const text = JSON.stringify({ ...rest, total: meta?.total }, (name, value) => {
    const isEmpty = Array.isArray(value) && value.length === 0
    return omitted.has(name) || isEmpty ? undefined : value
  })
  return JSON.parse(text)
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

async function compare(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tracker-'))
  const file = join(folder, 'tracker.sqlite')
  await seed(file)
  const clients = [await Client.start('service', file), await Client.start('handwritten', file)] as const
  const rounds = Number(process.env['BENCH_ROUNDS'] ?? 200)
  for (const screen of screens) {
    await requireSameData(screen, clients)
    const times = new Map(Object.keys(ways).map((way) => [way, [] as number[]]))
    const sizes = new Map<string, string>()
    for (let round = -20; round < rounds; round++) {
      for (const [way, load] of Object.entries(ways)) {
        for (const client of clients) [client.requests, client.bytes] = [0, 0]
        const start = performance.now()
        await load(screen, clients)
        if (round >= 0) times.get(way)?.push(performance.now() - start)
        const [own, other] = clients
        sizes.set(way, `${own.requests + other.requests} requests, ${own.bytes + other.bytes} bytes`)
      }
    }
    for (const [way, all] of times)
      console.log(`${screen.name}, ${way}: ${sizes.get(way)}, ${median(all).toFixed(2)} ms`)
  }
  for (const client of clients) client.close()
  rmSync(folder, { recursive: true })
}

const build = servers[process.env['BENCH_SERVER'] ?? '']
if (build === undefined) void compare()
else void serve(async () => (await build()).listen(0, '127.0.0.1'))
