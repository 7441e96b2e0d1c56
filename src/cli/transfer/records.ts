import type { ListFormat } from '../../resource'
import { CommandError } from '../command-error'

const [lineFeed, carriageReturn, quote] = [0x0a, 0x0d, 0x22]

/** Maximum size of a record, in bytes. Without a quote at its end, a cell would be the rest of the file. */
const maxRecordBytes = 64 * 1024 * 1024

/**
 * Returns a function that finds the ends of records in successive chunks of a file: the positions after a line break that is
 * not between the double quotes of CSV. In CSV, a carriage return without a line feed is a line break too: the service reads it as one.
 * The header of CSV and blank lines are records too.
 */
export function buildRecordFinder(format: ListFormat): (chunk: Buffer) => readonly number[] {
  const isCsv = format === 'csv'
  let isQuoted = false
  let isAfterReturn = false
  return (chunk) => {
    const ends: number[] = []
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index]
      // At the beginning of a chunk, the carriage return is the last byte of the previous one.
      if (isAfterReturn && byte !== lineFeed) ends.push(index)
      if (isCsv && byte === quote) isQuoted = !isQuoted
      if (byte === lineFeed && !isQuoted) ends.push(index + 1)
      isAfterReturn = isCsv && byte === carriageReturn && !isQuoted
    }
    return ends
  }
}

/**
 * The records of a file, as they are: with their line breaks, and not decoded.
 * @param isWhole whether what follows the last line break is a record, instead of the beginning of one
 */
export async function* recordsOf(
  chunks: AsyncIterable<Buffer>,
  format: ListFormat,
  isWhole: boolean,
): AsyncGenerator<Buffer> {
  const endsIn = buildRecordFinder(format)
  const beginning: Buffer[] = []
  let beginningBytes = 0
  for await (const chunk of chunks) {
    let start = 0
    for (const end of endsIn(chunk)) {
      const piece = chunk.subarray(start, end)
      yield beginning.length === 0 ? piece : Buffer.concat([...beginning.splice(0), piece])
      start = end
      beginningBytes = 0
    }
    if (start === chunk.length) continue
    beginning.push(chunk.subarray(start))
    beginningBytes += chunk.length - start
    if (beginningBytes > maxRecordBytes) {
      throw new CommandError('A record has more than 64 MiB: a double quote may be missing', 1)
    }
  }
  if (isWhole && beginning.length > 0) yield Buffer.concat(beginning)
}

/** Number of line breaks in a record. */
export function linesOf(record: Buffer, format: ListFormat): number {
  const endsLine = (byte: number, index: number): boolean =>
    byte === lineFeed || (format === 'csv' && byte === carriageReturn && record[index + 1] !== lineFeed)
  return record.filter(endsLine).length
}

/** Whether a record is a line that an import ignores: an empty line of CSV, or a line of NDJSON without text. */
export function isBlank(record: Buffer, format: ListFormat): boolean {
  // Most records begin with a visible character, and need not be decoded.
  if (Number(record[0]) > 0x20) return false
  return (format === 'csv' ? /^[\r\n]*$/ : /^\s*$/).test(record.toString())
}
