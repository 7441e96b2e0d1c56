import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { ListFormat } from '../../resource'
import { CommandError } from '../command-error'
import { statePath } from './files'
import { buildOmission } from './omit'
import { isBlank, linesOf, recordsOf } from './records'

/** A position in a file, between two records. */
export interface Position {
  /** Size of the file before this position, in bytes. */
  readonly bytes: number
  /** Number of lines before this position. */
  readonly lines: number
  /** SHA-256 of the bytes before this position. */
  readonly digest: string
}

/** Records that are sent with one request. */
export interface Part {
  readonly body: Buffer
  /** The line of the file for a line of the body. */
  readonly lineOf: (line: number) => number
  readonly end: Position
}

/** The position before the first record. */
export const startOfFile: Position = { bytes: 0, lines: 0, digest: createHash('sha256').digest('hex') }

/** How the parts of a file are made. */
export interface Division {
  readonly format: ListFormat
  /** Fields of the file that are not in the parts. */
  readonly omit: ReadonlySet<string>
  /** Number of the records of a part. */
  readonly batchSize: number
}

/**
 * The parts of a file after a position.
 * @throws {CommandError} if the bytes before the position have changed
 */
export async function* partsOf(
  file: string,
  { format, omit, batchSize }: Division,
  start: Position,
): AsyncGenerator<Part> {
  const hash = createHash('sha256')
  let [bytes, lines] = [0, 0]
  const position = (): Position => ({ bytes, lines, digest: hash.copy().digest('hex') })
  let isStartChecked = false
  const checkStart = (): void => {
    isStartChecked = true
    if (position().digest === start.digest) return
    throw new CommandError(
      `${file} has changed before line ${start.lines}, which is imported already. Restore it, or delete ${statePath(file)} to start again`,
      1,
    )
  }
  const { omit: omitFields, requireFound } = buildOmission(format, omit)
  const header: Buffer[] = []
  let isHeader = format === 'csv'
  let headerLines = 0
  let body: Buffer[] = []
  let count = 0
  let linesBefore = start.lines
  const part = (): Part => {
    // Later parts may have records without the fields.
    if (linesBefore <= headerLines) requireFound()
    const before = linesBefore
    const lineOf = (line: number): number => (line <= headerLines ? line : line - headerLines + before)
    return { body: Buffer.concat([...header, ...body]), lineOf, end: position() }
  }
  for await (const record of recordsOf(createReadStream(file), format, true)) {
    if (!isStartChecked && bytes >= start.bytes) checkStart()
    const isImported = bytes < start.bytes
    hash.update(record)
    bytes += record.length
    lines += linesOf(record, format)
    if (isHeader) {
      isHeader = isBlank(record, format)
      header.push(omitFields(record))
      headerLines = lines
      linesBefore = Math.max(lines, start.lines)
    } else if (!isImported) {
      body.push(omitFields(record))
      if (!isBlank(record, format)) count++
      if (count < batchSize) continue
      yield part()
      body = []
      count = 0
      linesBefore = lines
    }
  }
  if (!isStartChecked) checkStart()
  if (count > 0) yield part()
}
