/**
 * Compares the cost of pages with related records: a board of 20 tasks and a task with its comments. `npm run bench:screens`;
 * `BENCH_URL=postgres://…` or `mysql://…` names another database, whose tables are dropped.
 */
import 'reflect-metadata'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import autocannon from 'autocannon'
import type { Usage } from '../serve'
import { summaryOf } from './check'
import { type Contestant, contestants, type Screen, sqlitePeers } from './requests'
import { seed } from './seed'

interface Running extends Contestant {
  readonly child: ChildProcess
  readonly origin: string
}

/** The result of one time window; `cpu` is the time of the server's process for one request, in microseconds. */
interface Window {
  readonly cpu: number
  readonly rate: number
}

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 15)
const windowSeconds = Number(process.env['BENCH_WINDOW'] ?? 0.5)
const chosen = process.env['BENCH_ONLY']?.split(',')

async function start(contestant: Contestant, database: string): Promise<Running> {
  const child = fork(resolve(__dirname, contestant.server), {
    env: { ...process.env, NODE_ENV: 'production', BENCH_DATABASE: database },
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the server of ${contestant.name} has ended`)))
  const [{ port }] = (await Promise.race([once(child, 'message'), ended])) as [{ readonly port: number }]
  return { ...contestant, child, origin: `http://127.0.0.1:${port}` }
}

async function check(running: readonly Running[], screen: Screen): Promise<void> {
  let expected: string | undefined
  for (const { name, origin, paths } of running) {
    const response = await fetch(origin + paths[screen](7))
    const summary = summaryOf(screen, await response.json())
    expected ??= summary
    if (summary !== expected) throw new Error(`${name} has other records in ${screen}: ${summary}, not ${expected}`)
  }
}

async function cpuOf({ child }: Running): Promise<number> {
  child.send('usage')
  const [{ cpu }] = (await once(child, 'message')) as [Usage]
  return cpu
}

async function measure(running: Running, screen: Screen, amount: number): Promise<Window> {
  const requests = Array.from({ length: 64 }, (_, pick) => ({ path: running.paths[screen](pick * 37) }))
  const before = await cpuOf(running)
  const begin = performance.now()
  const result = await autocannon({ url: running.origin, connections: 8, amount, requests, sampleInt: 5 })
  const seconds = (performance.now() - begin) / 1000
  if (result['2xx'] < amount) throw new Error(`${running.name} has refused ${screen}`)
  return { cpu: (((await cpuOf(running)) - before) / amount) * 1000, rate: amount / seconds }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

async function compare(running: readonly Running[], screen: Screen): Promise<void> {
  await check(running, screen)
  const amounts = new Map<string, number>()
  for (const one of running) {
    await measure(one, screen, 100)
    amounts.set(one.name, Math.max(50, Math.round((await measure(one, screen, 100)).rate * windowSeconds)))
  }
  const windows = new Map(running.map(({ name }) => [name, [] as Window[]]))
  // The first rounds are not counted: the servers have not been optimized by the compiler yet.
  for (let round = -2; round < rounds; round++) {
    for (const one of running.toSorted(() => Math.random() - 0.5)) {
      const window = await measure(one, screen, amounts.get(one.name) ?? 100)
      if (round >= 0) windows.get(one.name)?.push(window)
    }
  }
  const own = windows.get('ours') ?? []
  for (const [name, all] of windows) {
    const ratio = (key: keyof Window): string =>
      median(all.map((one, index) => one[key] / (own[index]?.[key] ?? 1))).toFixed(2)
    const [cpu, rate] = [median(all.map((one) => one.cpu)).toFixed(0), median(all.map((one) => one.rate)).toFixed(0)]
    console.log(`${screen}: ${name} ${cpu} µs (${ratio('cpu')} of ours), ${rate} requests/s (${ratio('rate')} of ours)`)
  }
}

async function main(): Promise<void> {
  const url = process.env['BENCH_URL']
  const folder = mkdtempSync(join(tmpdir(), 'screens-'))
  const database = url ?? join(folder, 'tracker.sqlite')
  await seed(database)
  const all = url === undefined ? [...contestants, ...sqlitePeers] : contestants
  const named = all.filter(({ name }) => chosen === undefined || name === 'ours' || chosen.includes(name))
  const running = await Promise.all(named.map((one) => start(one, database)))
  for (const screen of ['board', 'task'] as const) await compare(running, screen)
  for (const { child } of running) child.disconnect()
  rmSync(folder, { recursive: true })
}

void main()
