import type { ListFormat } from '../../resource'
import { CommandError } from '../command-error'

const [lineFeed, carriageReturn, comma, quote] = [0x0a, 0x0d, 0x2c, 0x22]

const byteOrderMark = Buffer.from('\ufeff')
/** A cell without text, which is written although it is the only one of its row. */
const emptyCell = Buffer.from('""')

/** Removes fields from the successive records of a file. */
export interface Omission {
  /**
   * Removes the fields from a record. It keeps its number of lines, so that the service's errors have the right ones.
   * @throws {CommandError} if the header of CSV does not have all of the fields
   */
  readonly omit: (record: Buffer) => Buffer
  /** @throws {CommandError} if there is a field that no record has had so far */
  readonly requireFound: () => void
}

export function buildOmission(format: ListFormat, names: ReadonlySet<string>): Omission {
  if (names.size === 0) return { omit: (record) => record, requireFound: () => undefined }
  return format === 'csv' ? omitCells(names) : omitMembers(names)
}

function omitMembers(names: ReadonlySet<string>): Omission {
  const present = new Set<string>()
  // It removes the byte order mark at the beginning of a file.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const omit = (record: Buffer): Buffer => {
    // The service reports lines that are not UTF-8, or not JSON objects, and numbers that it cannot store.
    try {
      const text = decoder.decode(record)
      if (!text.trimStart().startsWith('{')) return record
      const members = Object.entries(JSON.parse(text))
      for (const [name] of members) present.add(name)
      const kept = Object.fromEntries(members.filter(([name]) => !names.has(name)))
      return Buffer.from(`${JSON.stringify(kept, requireFinite)}\n`)
    } catch {
      return record
    }
  }
  return { omit, requireFound: () => present.size > 0 && requireNames(names, [...present]) }
}

/** Replacer for `JSON.stringify`, which would replace a number such as 1e400 by null. @throws {RangeError} */
function requireFinite(_: string, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw new RangeError('the number is too large')
}

function omitCells(names: ReadonlySet<string>): Omission {
  let omitted: ReadonlySet<number> | undefined
  const omit = (record: Buffer): Buffer => {
    const { cells, lineEnd } = cellsOf(record)
    // The service reports a wrong quote, after which cells and records cannot be told apart.
    if (!cells.every(hasRightQuotes)) return record
    if (omitted === undefined && record.length > lineEnd.length) {
      const header = cells.map((cell) =>
        cell
          .toString()
          .replace(/^\uFEFF/, '')
          .replace(/^"(.*)"$/, '$1'),
      )
      requireNames(names, header)
      omitted = new Set(header.flatMap((name, index) => (names.has(name) ? [index] : [])))
    }
    const kept = cells.filter((_, index) => !omitted?.has(index))
    // An empty line would not be a record.
    const [only] = kept
    if (kept.length === 1 && cells.length > 1 && only?.length === 0) return Buffer.concat([emptyCell, lineEnd])
    return Buffer.concat([...kept.flatMap((cell) => [Buffer.of(comma), cell]).slice(1), lineEnd])
  }
  return { omit, requireFound: () => undefined }
}

/** @throws {CommandError} for a name that is not among those of the file: a misspelt field would be imported */
function requireNames(names: ReadonlySet<string>, present: readonly string[]): void {
  const unknown = [...names].find((name) => !present.includes(name))
  if (unknown === undefined) return
  throw new CommandError(
    `--omit names "${unknown}", which the file does not have; its fields: ${present.join(', ')}`,
    2,
  )
}

/** Whether a cell has no quotes, or is in quotes and doubles those in its text. The first one of a file may begin with a byte order mark. */
function hasRightQuotes(cell: Buffer): boolean {
  if (!cell.includes(quote)) return true
  const start = cell.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0
  const end = cell.length - 1
  if (cell[start] !== quote || cell[end] !== quote || end === start) return false
  for (let index = start + 1; index < end; index++) {
    if (cell[index] !== quote) continue
    index++
    if (index === end || cell[index] !== quote) return false
  }
  return true
}

/** The cells of a row as they are written, and its line break. */
function cellsOf(record: Buffer): { readonly cells: readonly Buffer[]; readonly lineEnd: Buffer } {
  let end = record.length
  if (record[end - 1] === lineFeed) end--
  if (record[end - 1] === carriageReturn) end--
  const cells: Buffer[] = []
  let start = 0
  let isQuoted = false
  for (let index = 0; index < end; index++) {
    if (record[index] === quote) isQuoted = !isQuoted
    if (record[index] !== comma || isQuoted) continue
    cells.push(record.subarray(start, index))
    start = index + 1
  }
  return { cells: [...cells, record.subarray(start, end)], lineEnd: record.subarray(end) }
}
