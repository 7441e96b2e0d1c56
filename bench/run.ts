/** Compares the throughput of the service with that of other implementations: `npm run bench`. */
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkResponses } from './check'
import { fill, seedFile } from './database'
import { type Engine, measuredEngines, serverUrls } from './engines'
import { printGoals } from './goals'
import { type Deployment, deployments } from './implementations'
import { measure, type Series, type Window } from './measure'
import { pinToSecondCore, type Running, startServer } from './process'
import { type Measurement, printMarkdown, printTable, processResult, type Results, summarize } from './report'
import { comparedWith, type Work, works } from './work'

const data = join(__dirname, '..', 'data')
const resultsFile = join(__dirname, '..', 'results.json')
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 10)
const listIn = (variable: string): readonly string[] => process.env[variable]?.split(',') ?? []
const onlyImplementations = listIn('BENCH_ONLY')
const onlyWorks = listIn('BENCH_WORK')

const fileOf = ({ implementation }: Deployment): string => join(__dirname, implementation.server)

/** The deployments that `BENCH_ONLY` names by implementation or by their own name. Those that are not compiled are left out. */
function chosenDeployments(engine: Engine): readonly Deployment[] {
  const chosen = deployments.filter(
    ({ name, implementation, engine: own }) =>
      own === engine &&
      (onlyImplementations.length === 0 ||
        onlyImplementations.includes(name) ||
        onlyImplementations.includes(implementation.name)),
  )
  const missing = chosen.filter((deployment) => !existsSync(fileOf(deployment))).map(({ name }) => name)
  if (missing.length > 0) {
    process.stderr.write(`Left out, because they are not compiled: ${missing.join(', ')}. "npm run bench" does it.\n`)
  }
  return chosen.filter(({ name }) => !missing.includes(name))
}

/** Fills the database of an engine. @returns the database of a deployment: its own copy of a file, or the server */
async function prepareDatabase(engine: Engine): Promise<(deployment: Deployment) => string> {
  const url = serverUrls[engine]
  const original = url ?? join(data, seedFile)
  await fill(original)
  if (url !== undefined) return () => url
  return ({ name }) => {
    const copy = join(data, `${name}.sqlite`)
    for (const suffix of ['-wal', '-shm']) rmSync(copy + suffix, { force: true })
    copyFileSync(original, copy)
    return copy
  }
}

/** The implementations that support this kind of request. If it is compared with another one, also `ours` with that one. */
function seriesOf(all: readonly Running[], work: Work): readonly Series[] {
  const reference = comparedWith[work]
  const series = all
    .filter(({ deployment }) => deployment.requests[work] !== undefined)
    .map((running): Series => ({ name: running.deployment.implementation.name, running, work }))
  if (reference === undefined) return series
  return series.flatMap((one) => [one, { ...one, name: `${one.name}, ${reference}`, work: reference }])
}

/** Measures one kind of request, in rounds. */
async function measureWork(all: readonly Running[], work: Work): Promise<readonly Measurement[]> {
  const series = seriesOf(all, work)
  // The first windows are not used: the servers have not been optimized by the compiler yet.
  for (const one of series) await measure(one)
  const windows = new Map(series.map(({ name }): [string, Window[]] => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const one of shuffled(series)) windows.get(one.name)?.push(await measure(one))
  }
  return series.map(({ name, running }) => ({
    work,
    engine: running.deployment.engine,
    implementation: name,
    windows: windows.get(name) ?? [],
  }))
}

/** Copy in random order. A database may still work for the previous implementation, so that a fixed order would be unfair. */
function shuffled<T>(all: readonly T[]): readonly T[] {
  const keyed = all.map((one) => ({ one, key: Math.random() }))
  return keyed.toSorted((a, b) => a.key - b.key).map(({ one }) => one)
}

/** Measures all implementations on one engine. Their servers run only meanwhile. */
async function measureEngine(engine: Engine) {
  const chosen = chosenDeployments(engine)
  if (chosen.length === 0) return { measurements: [], processes: [] }
  const databaseOf = await prepareDatabase(engine)
  const running: Running[] = []
  try {
    for (const one of chosen) running.push(await startServer(one, fileOf(one), databaseOf(one)))
    await checkResponses(running)
    const measurements: Measurement[] = []
    process.stderr.write(`${engine}: `)
    for (const work of works.filter((one) => onlyWorks.length === 0 || onlyWorks.includes(one))) {
      try {
        measurements.push(...(await measureWork(running, work)))
        process.stderr.write(`${work} `)
      } catch (error) {
        // The other results took long to measure, so that they are kept.
        console.error(`${work} was not measured:`, error)
        process.exitCode = 1
      }
    }
    process.stderr.write('\n')
    const processes = []
    for (const one of running) processes.push(await processResult(one))
    return { measurements, processes }
  } finally {
    for (const one of running) await one.stop()
  }
}

/** Adds the results of the other engines that the file has, if they are from the same machine and with the same data. */
function withStoredResults(measured: Results): Results {
  if (!existsSync(resultsFile)) return measured
  const stored: Results = JSON.parse(readFileSync(resultsFile, 'utf8'))
  const { machine, node, notes, results, processes } = measured
  if (stored.machine !== machine || stored.node !== node || stored.notes !== notes) return measured
  const isOther = ({ engine }: { readonly engine: Engine }): boolean => !results.some((one) => one.engine === engine)
  return {
    ...measured,
    results: [...stored.results.filter(isOther), ...results],
    processes: [...stored.processes.filter(isOther), ...processes],
  }
}

async function main(): Promise<void> {
  pinToSecondCore()
  const all = []
  for (const engine of measuredEngines) {
    try {
      all.push(await measureEngine(engine))
    } catch (error) {
      // As above.
      console.error(`${engine} was not measured:`, error)
      process.exitCode = 1
    }
  }
  const results = summarize(
    all.flatMap(({ measurements }) => measurements),
    all.flatMap(({ processes }) => processes),
  )
  printTable(results)
  printGoals(results)
  printMarkdown(results)
  // A part of the requests or implementations must not replace all of them.
  const isWhole = onlyWorks.length === 0 && onlyImplementations.length === 0 && results.results.length > 0
  if (isWhole) writeFileSync(resultsFile, `${JSON.stringify(withStoredResults(results), null, 2)}\n`)
}

main()
