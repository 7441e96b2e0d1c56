/**
 * Measures the views and the writes of the tracker's page: `npm run bench:tracker`. One request to the service is compared with the separate
 * requests that a page needs without includes, aggregates, counts, formats, bulk and nested writes, and with endpoints written by hand. A
 * client sends one request after the other.
 */
import 'reflect-metadata'
import { deepStrictEqual } from 'node:assert'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa from 'koa'
import { mountResources } from 'typeorm-resources'
import { login } from '../../sample/tracker/login'
import { trackerOptions } from '../../sample/tracker/options'
import { database, serve } from '../serve'
import { Client } from './client'
import { open, seed } from './data'
import { handwritten } from './handwritten'
import { type Screen, screens } from './screens'
import { type Write, writes } from './writes'

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

type Clients = readonly [Client, Client]

/** The ways to load a view. */
const waysOf = ({ separate, path, ownPath }: Screen, [own, other]: Clients) => ({
  'separate requests': () => separate((part) => own.get(`/api/${part}`)),
  'one request': () => own.get(`/api/${path}`),
  'written by hand': () => other.get(ownPath),
})

/** Fails if an endpoint written by hand does not have the data of the service. */
async function requireSameData({ path, ownPath }: Screen, [own, other]: Clients): Promise<void> {
  const [expected, actual] = [await own.get(`/api/${path}`), await other.get(ownPath)]
  if (!actual.startsWith('{')) return deepStrictEqual(actual, expected)
  deepStrictEqual(comparable(JSON.parse(actual)), comparable(JSON.parse(expected)))
}

/** A response without the members that only the service returns. */
function comparable({ meta, ...rest }: { readonly meta?: { readonly total?: number } }): unknown {
  const omitted = new Set(['comments_next', 'tags_next', 'project_id', 'assignee_id'])
  const text = JSON.stringify({ ...rest, total: meta?.total }, (name, value) => {
    const isEmpty = Array.isArray(value) && value.length === 0
    return omitted.has(name) || isEmpty ? undefined : value
  })
  return JSON.parse(text)
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** Measures the ways in turn. @param undo runs after each of them */
async function measure(
  { name, ways, rounds, undo }: Omit<Write, 'undo'> & Partial<Write>,
  clients: Clients,
): Promise<void> {
  const times = new Map(Object.keys(ways).map((way) => [way, [] as number[]]))
  const sizes = new Map<string, string>()
  for (let round = -Math.ceil(rounds / 10); round < rounds; round++) {
    for (const [way, run] of Object.entries(ways)) {
      for (const client of clients) [client.requests, client.bytes] = [0, 0]
      const start = performance.now()
      await run()
      if (round >= 0) times.get(way)?.push(performance.now() - start)
      undo?.()
      const [own, other] = clients
      sizes.set(way, `${own.requests + other.requests} requests, ${own.bytes + other.bytes} bytes`)
    }
  }
  for (const [way, all] of times) console.log(`${name}, ${way}: ${sizes.get(way)}, ${median(all).toFixed(2)} ms`)
}

async function compare(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tracker-'))
  const file = join(folder, 'tracker.sqlite')
  await seed(file)
  const clients: Clients = [await Client.start('service', file), await Client.start('handwritten', file)]
  const rounds = Number(process.env['BENCH_ROUNDS'] ?? 200)
  for (const screen of screens) {
    await requireSameData(screen, clients)
    await measure({ name: screen.name, rounds, ways: waysOf(screen, clients) }, clients)
  }
  for (const write of writes(file, clients)) await measure(write, clients)
  for (const client of clients) client.close()
  rmSync(folder, { recursive: true })
}

const build = servers[process.env['BENCH_SERVER'] ?? '']
if (build === undefined) void compare()
else void serve(async () => (await build()).listen(0, '127.0.0.1'))
