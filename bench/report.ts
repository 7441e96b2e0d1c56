import { cpus } from 'node:os'
import { type Engine, engines, engineTitles } from './engines'
import type { Window } from './measure'
import type { Running } from './process'
import { noteCount, type Work, works } from './work'

/** The windows of an implementation for one kind of request on one engine, in the order of the rounds. */
export interface Measurement {
  readonly work: Work
  readonly engine: Engine
  /** Name of the implementation, or of a series of `ours` that it is compared with, such as `ours, list`. */
  readonly implementation: string
  readonly windows: readonly Window[]
}

interface Result extends Omit<Measurement, 'windows'> {
  /** Medians of the windows. */
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly cpu: number
  /** Throughput of `ours` on the same engine, divided by that of the implementation: quartiles of the ratios within a round. */
  readonly ours: Quartiles | undefined
}

type Quartiles = readonly [lower: number, median: number, upper: number]

interface ProcessResult {
  readonly engine: Engine
  readonly implementation: string
  /** Resident memory after the load, in MiB. */
  readonly memory: number
  /** Time until the server listens, in milliseconds. */
  readonly start: number
}

export interface Results {
  readonly machine: string
  readonly node: string
  readonly notes: number
  readonly results: readonly Result[]
  readonly processes: readonly ProcessResult[]
}

export function summarize(all: readonly Measurement[], processes: readonly ProcessResult[]): Results {
  const results = all.map(({ windows, ...measured }): Result => {
    const ours = all.find(
      ({ work, engine, implementation }) =>
        implementation === 'ours' && work === measured.work && engine === measured.engine,
    )?.windows
    return {
      ...measured,
      rate: Math.round(median(windows.map(({ rate }) => rate))),
      p50: median(windows.map(({ p50 }) => p50)),
      p99: median(windows.map(({ p99 }) => p99)),
      cpu: rounded(median(windows.map(({ cpu }) => cpu))),
      ours: ours && quartiles(windows.map(({ rate }, round) => (ours[round]?.rate ?? Number.NaN) / rate)),
    }
  })
  return { machine: cpus()[0]?.model ?? '', node: process.version, notes: noteCount, results, processes }
}

export async function processResult({ deployment, usage, startTime }: Running): Promise<ProcessResult> {
  const { engine, implementation } = deployment
  const { memory } = await usage()
  return {
    engine,
    implementation: implementation.name,
    memory: Math.round(memory / 2 ** 20),
    start: Math.round(startTime),
  }
}

export function printTable({ results, processes }: Results): void {
  console.table(
    results.map(({ ours, ...others }) => ({
      ...others,
      'ours/this': ours?.map((ratio) => ratio.toFixed(2)).join(' '),
    })),
  )
  console.table(processes)
}

/**
 * Prints the ratios of docs/explanations/performance.md: one table for each engine, and one of the requests that are compared with other
 * requests to `ours`.
 */
export function printMarkdown({ results }: Results): void {
  const isReference = (name: string): boolean => name.startsWith('ours, ')
  for (const engine of engines) {
    const own = results.filter((one) => one.engine === engine && one.implementation !== 'ours')
    const compared = own.filter(({ implementation }) => !isReference(implementation))
    if (compared.length === 0) continue
    const names = [...new Set(compared.map(({ implementation }) => implementation))]
    const rows = works
      .filter((work) => compared.some((one) => one.work === work))
      .map((work) => [
        work,
        ...names.map((name) => inShort(compared.find((one) => one.work === work && one.implementation === name)?.ours)),
      ])
    console.log(`\n${engineTitles[engine]}: throughput of ours, divided by that of the implementation (quartiles)\n`)
    printRows([['work', ...names], ...rows])
  }
  const references = results.filter(({ implementation }) => isReference(implementation))
  if (references.length === 0) return
  console.log('\nThroughput of a request, divided by that of another request to ours (quartiles)\n')
  printRows([
    ['request', 'compared with', 'database', 'ratio'],
    ...references.map(({ work, implementation, engine, ours }) => [
      work,
      implementation.replace('ours, ', ''),
      engineTitles[engine],
      inShort(ours),
    ]),
  ])
}

function printRows([head = [], ...rows]: readonly (readonly string[])[]): void {
  for (const row of [head, head.map(() => '---'), ...rows]) console.log(`| ${row.join(' | ')} |`)
}

function inShort(ratios: Quartiles | undefined): string {
  if (ratios === undefined) return ''
  const [lower, middle, upper] = ratios.map((ratio) => (ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(0)))
  return `${middle} (${lower}–${upper})`
}

function quartiles(values: readonly number[]): Quartiles {
  return [quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)]
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Quantile with linear interpolation. @param share from 0 to 1 */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const index = (sorted.length - 1) * share
  const [lower = Number.NaN, upper = Number.NaN] = [sorted[Math.floor(index)], sorted[Math.ceil(index)]]
  return rounded(lower + (upper - lower) * (index % 1))
}

/** A number with four significant digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
