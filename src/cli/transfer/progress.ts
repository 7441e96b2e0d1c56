import type { SingleBar } from 'cli-progress'
import type { ListFormat } from '../../resource'
import { buildRecordFinder } from './records'

/** How much has been transferred, since the beginning. */
export interface Transferred {
  readonly bytes: number
  readonly records: number
}

/** Before the first record. */
export const nothing: Transferred = { bytes: 0, records: 0 }

/** Shows on a terminal how much has been transferred. Prints nothing if the standard error is not a terminal. */
export interface Progress {
  readonly show: (transferred: Transferred) => void
  readonly stop: () => void
}

/** @param totalBytes size of the whole transfer; undefined if it is not known */
export async function startProgress(title: string, totalBytes?: number): Promise<Progress> {
  let bar: SingleBar | undefined
  if (process.stderr.isTTY) {
    const { Presets, SingleBar } = await import('cli-progress')
    const amount = totalBytes === undefined ? '{megabytes} MB' : '{bar} {percentage}%'
    bar = new SingleBar({ format: `${title} ${amount}, {records} records` }, Presets.shades_classic)
    bar.start(totalBytes ?? 0, 0, { records: '0', megabytes: '0.0' })
  }
  return {
    show: ({ bytes, records }) =>
      bar?.update(bytes, { records: records.toLocaleString('en'), megabytes: (bytes / 1e6).toFixed(1) }),
    stop: () => bar?.stop(),
  }
}

/**
 * Passes the chunks of a file through.
 * @param before what has been transferred before these chunks
 * @param show receives what has been transferred with each chunk
 */
export async function* counted(
  chunks: AsyncIterable<Buffer>,
  format: ListFormat,
  before: Transferred,
  show: (transferred: Transferred) => void,
): AsyncGenerator<Buffer> {
  const endsIn = buildRecordFinder(format)
  let { bytes, records } = before
  // The header of CSV is not a record.
  if (bytes === 0 && format === 'csv') records = -1
  for await (const chunk of chunks) {
    bytes += chunk.length
    records += endsIn(chunk).length
    show({ bytes, records: Math.max(records, 0) })
    yield chunk
  }
}

/** Prints a message for the user. The standard output is for records. */
export function report(message: string): void {
  process.stderr.write(`${message}\n`)
}

/** `1 record`, `5,000 records`. */
export function countOf(records: number): string {
  return `${records.toLocaleString('en')} ${records === 1 ? 'record' : 'records'}`
}

/** The time since `start`, a value of `performance.now()`: `1.2 s`. */
export function secondsSince(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`
}
