import type { ListFormat } from '../../resource'
import { CommandError } from '../command-error'

const newline = 0x0a
const quote = 0x22

/** Maximum size of a record, in bytes. Without a quote at its end, a cell would be the rest of the file. */
const maxRecordBytes = 64 * 1024 * 1024

/**
 * Returns a function that finds the ends of records in successive chunks of a file: the positions after a line break that is
 * not between the double quotes of CSV. The header of CSV and blank lines are records too.
 */
export function buildRecordFinder(format: ListFormat): (chunk: Buffer) => readonly number[] {
  let isQuoted = false
  return (chunk) => {
    const ends: number[] = []
    let nextQuote = format === 'csv' ? chunk.indexOf(quote) : -1
    const passQuotes = (end: number): void => {
      for (; nextQuote >= 0 && nextQuote < end; nextQuote = chunk.indexOf(quote, nextQuote + 1)) isQuoted = !isQuoted
    }
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, end + 1)) {
      passQuotes(end)
      if (!isQuoted) ends.push(end + 1)
    }
    passQuotes(chunk.length)
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
export function linesOf(record: Buffer): number {
  let lines = 0
  for (let end = record.indexOf(newline); end >= 0; end = record.indexOf(newline, end + 1)) lines++
  return lines
}

/** Whether a record is a line without text, which an import ignores. */
export function isBlank(record: Buffer): boolean {
  // Most records begin with a visible character, and need not be decoded.
  return Number(record[0]) <= 0x20 && record.toString().trim() === ''
}
