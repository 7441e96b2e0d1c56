/**
 * Compares the cost of pages with related records: a board of 20 tasks and a task with its comments. `npm run bench:screens`, on SQLite
 * and on the servers of `BENCH_POSTGRES_URL` and `BENCH_MARIADB_URL`, whose tables are dropped.
 */
import 'reflect-metadata'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import autocannon from 'autocannon'
import { type Engine, engineTitles, measuredEngines, serverUrls } from '../engines'
import { median } from '../report'
import type { Usage } from '../serve'
import { summaryOf } from './check'
import { type Implementation, implementations, type Screen } from './requests'
import { seed } from './seed'

interface Running extends Implementation {
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

async function start(implementation: Implementation, database: string): Promise<Running> {
  const child = fork(resolve(__dirname, implementation.server), {
    env: { ...process.env, NODE_ENV: 'production', BENCH_DATABASE: database },
  })
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error(`the server of ${implementation.name} has exited`)),
  )
  const [{ port }] = (await Promise.race([once(child, 'message'), ended])) as [{ readonly port: number }]
  return { ...implementation, child, origin: `http://127.0.0.1:${port}` }
}

async function check(running: readonly Running[], screen: Screen): Promise<void> {
  let expected: string | undefined
  for (const { name, origin, paths } of running) {
    const response = await fetch(origin + paths[screen](7))
    const text = await response.text()
    if (!response.ok) throw new Error(`${name} responds to ${screen} with ${response.status}: ${text}`)
    const summary = summaryOf(screen, JSON.parse(text))
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
  if (result['2xx'] < amount)
    throw new Error(`${running.name}: ${amount - result['2xx']} of ${amount} responses to ${screen} are errors`)
  return { cpu: (((await cpuOf(running)) - before) / amount) * 1000, rate: amount / seconds }
}

/** Medians of an implementation, and its ratio to `ours`: the median of the ratios within each round. */
interface Result extends Window {
  readonly ratio: number
}

type Results = ReadonlyMap<string, Result>

async function compare(running: readonly Running[], screen: Screen): Promise<Results> {
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
  const results = [...windows].map(([name, all]): [string, Result] => {
    const cpu = median(all.map((one) => one.cpu))
    const rate = median(all.map((one) => one.rate))
    return [name, { cpu, rate, ratio: median(all.map((one, round) => one.cpu / (own[round]?.cpu ?? Number.NaN))) }]
  })
  return new Map(results)
}

/** Measures all implementations on one engine. @returns the rows of the table */
async function compareOn(engine: Engine, folder: string): Promise<readonly (readonly string[])[]> {
  const database = serverUrls[engine] ?? join(folder, 'tracker.sqlite')
  await seed(database)
  const supported = implementations.filter(({ engines }) => engines?.includes(engine) ?? true)
  const named = supported.filter(({ name }) => chosen === undefined || name === 'ours' || chosen.includes(name))
  const running = await Promise.all(named.map((one) => start(one, database)))
  const rows: string[][] = []
  for (const screen of ['board', 'task'] as const) {
    const results = await compare(running, screen)
    for (const [name, { cpu, rate, ratio }] of results) {
      const figures = `${cpu.toFixed(0)} µs of CPU (${ratio.toFixed(2)} of ours), ${rate.toFixed(0)} requests/s`
      console.log(`${engine}, ${screen}: ${name} ${figures}`)
    }
    const cells = implementations.map(({ name }) => {
      const result = results.get(name)
      if (result === undefined) return ''
      return name === 'ours' ? `1 (${Math.round(result.cpu).toLocaleString('en')} µs)` : result.ratio.toFixed(2)
    })
    rows.push([engineTitles[engine], screen, ...cells])
  }
  for (const { child } of running) child.disconnect()
  return rows
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'screens-'))
  const rows: (readonly string[])[] = []
  for (const engine of measuredEngines) rows.push(...(await compareOn(engine, folder)))
  rmSync(folder, { recursive: true })
  const head = ['database', 'page', ...implementations.map(({ name }) => name)]
  console.log('\nCPU time of a request, divided by that of ours\n')
  for (const row of [head, head.map(() => '---'), ...rows]) console.log(`| ${row.join(' | ')} |`)
}

void main()
