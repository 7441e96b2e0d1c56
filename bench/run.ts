import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { printBars } from './bars'
import { checkAnswers } from './check'
import { type Contestant, contestants } from './contestants'
import { fill } from './database'
import { measure, type Series, type Window } from './measure'
import { type Running, startServer, takeSecondCore } from './process'
import { printMarkdown, printTable, summarize } from './report'
import { comparedWith, noteCount, type Work, works } from './work'

const data = join(__dirname, '..', 'data')
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 10)
const chosen = (name: string): readonly string[] => process.env[name]?.split(',') ?? []

async function databaseOf({ engine, name }: Contestant): Promise<string | undefined> {
  if (engine === 'postgres') return process.env['BENCH_POSTGRES_URL']
  const original = join(data, `notes-${noteCount}.sqlite`)
  await fill(original)
  const copy = join(data, `${name}.sqlite`)
  for (const end of ['-wal', '-shm']) rmSync(copy + end, { force: true })
  copyFileSync(original, copy)
  return copy
}

const fileOf = ({ server }: Contestant): string => join(__dirname, server)

/** Those who are asked for and compiled: the peers need a package of their own. */
function compiledContestants(): readonly Contestant[] {
  const only = chosen('BENCH_ONLY')
  const asked = contestants.filter(({ name }) => only.length === 0 || only.includes(name))
  const missing = asked.filter((contestant) => !existsSync(fileOf(contestant))).map(({ name }) => name)
  if (missing.length > 0) {
    process.stderr.write(`Left out, because they are not compiled: ${missing.join(', ')}. "npm run bench" does it.\n`)
  }
  return asked.filter(({ name }) => !missing.includes(name))
}

async function startAll(): Promise<readonly Running[]> {
  const url = process.env['BENCH_POSTGRES_URL']
  if (url !== undefined) await fill(url)
  const running: Running[] = []
  for (const contestant of compiledContestants()) {
    const database = await databaseOf(contestant)
    if (database !== undefined) running.push(await startServer(contestant, fileOf(contestant), database))
  }
  return running
}

/** Everybody who can do it; where ours is compared with itself, ours alone. */
function seriesOf(all: readonly Running[], work: Work): readonly Series[] {
  const reference = comparedWith[work]
  const able = all.filter(({ contestant }) => contestant.requests[work] !== undefined)
  const series = able.map((running): Series => ({ name: running.contestant.name, running, work }))
  if (reference === undefined) return series
  return series.flatMap((one) => [one, { ...one, name: `${one.name}, ${reference}`, work: reference }])
}

/** The windows of one kind of work, round by round, by name. */
async function measureWork(series: readonly Series[]): Promise<ReadonlyMap<string, readonly Window[]>> {
  for (const one of series) await measure(one)
  const windows = new Map(series.map(({ name }): [string, Window[]] => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const one of shuffled(series)) windows.get(one.name)?.push(await measure(one))
  }
  return windows
}

/** Nobody is always the first, nor always behind the same, whose database may still be at work. */
function shuffled<T>(all: readonly T[]): readonly T[] {
  const drawn = all.map((one) => ({ one, lot: Math.random() }))
  return drawn.toSorted((a, b) => a.lot - b.lot).map(({ one }) => one)
}

async function main(): Promise<void> {
  takeSecondCore()
  const running = await startAll()
  try {
    await checkAnswers(running)
    const only = chosen('BENCH_WORK')
    const all = new Map<Work, ReadonlyMap<string, readonly Window[]>>()
    for (const work of works.filter((one) => only.length === 0 || only.includes(one))) {
      all.set(work, await measureWork(seriesOf(running, work)))
      process.stderr.write(`${work} `)
    }
    const results = await summarize(running, all)
    printTable(results)
    printBars(results)
    printMarkdown(results)
    // What was left out would be lost.
    const isWhole = only.length === 0 && chosen('BENCH_ONLY').length === 0
    if (isWhole) writeFileSync(join(__dirname, '..', 'results.json'), `${JSON.stringify(results, null, 2)}\n`)
  } finally {
    for (const one of running) await one.stop()
  }
}

main()
