import { cpus } from 'node:os'
import type { Window } from './measure'
import type { Running } from './process'
import { noteCount, type Work } from './work'

/** What a contestant reached at one kind of work. */
export interface Result {
  readonly work: Work
  readonly contestant: string
  /** Medians of the windows. */
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly cpu: number
  /** How much faster ours is on the same engine: quartiles of the ratios taken inside each round. */
  readonly ours: readonly [lower: number, median: number, upper: number] | undefined
}

export interface Results {
  readonly machine: string
  readonly node: string
  readonly notes: number
  readonly results: readonly Result[]
  /** Resident memory after the load in MiB, and the time until the server listens in ms. */
  readonly processes: readonly { readonly contestant: string; readonly memory: number; readonly start: number }[]
}

export async function summarize(
  running: readonly Running[],
  windows: ReadonlyMap<Work, ReadonlyMap<string, readonly Window[]>>,
): Promise<Results> {
  const results = [...windows].flatMap(([work, byName]) =>
    [...byName].map(([contestant, own]): Result => {
      const ours = byName.get(contestant.includes('postgres') ? 'ours-postgres' : 'ours')
      return {
        work,
        contestant,
        rate: Math.round(median(own.map(({ rate }) => rate))),
        p50: median(own.map(({ p50 }) => p50)),
        p99: median(own.map(({ p99 }) => p99)),
        cpu: rounded(median(own.map(({ cpu }) => cpu))),
        ours: ours && quartiles(own.map(({ rate }, round) => (ours[round]?.rate ?? Number.NaN) / rate)),
      }
    }),
  )
  const processes = []
  for (const { contestant, usage, startTime } of running) {
    const { memory } = await usage()
    processes.push({
      contestant: contestant.name,
      memory: Math.round(memory / 2 ** 20),
      start: Math.round(startTime),
    })
  }
  return { machine: cpus()[0]?.model ?? '', node: process.version, notes: noteCount, results, processes }
}

export function printTable({ results, processes }: Results): void {
  console.table(
    results.map(({ ours, ...others }) => ({ ...others, 'ours is': ours?.map((ratio) => ratio.toFixed(2)).join(' ') })),
  )
  console.table(processes)
}

/** For docs/explanations/performance.md: how many times as fast as each contestant ours is, with quartiles. */
export function printMarkdown({ results }: Results): void {
  const contestants = [...new Set(results.map(({ contestant }) => contestant))].filter((name) => !/^ours/.test(name))
  const lines = [...new Set(results.map(({ work }) => work))].map((work) => {
    const cells = contestants.map((contestant) => {
      const { ours } = results.find((one) => one.work === work && one.contestant === contestant) ?? {}
      return ours === undefined ? '' : `${inShort(ours[1])} (${inShort(ours[0])}–${inShort(ours[2])})`
    })
    return [work, ...cells]
  })
  const rows = [['ours against', ...contestants], ['', ...contestants].map(() => '---'), ...lines]
  for (const row of rows) console.log(`| ${row.join(' | ')} |`)
}

function inShort(ratio: number): string {
  return ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(0)
}

function quartiles(values: readonly number[]): readonly [number, number, number] {
  return [quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)]
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const [below = Number.NaN, above = Number.NaN] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  return rounded(below + (above - below) * (place % 1))
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
