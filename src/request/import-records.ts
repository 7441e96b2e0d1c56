import type { Readable, Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { parse } from 'csv-parse'
import { ApiError } from '../errors'
import type { ListFormat } from '../resource'
import { type Body, maxMembers, membersOf } from './body'
import { requireFewSeparators, requireFewValues, tooManyBytes } from './body-values'
import type { Limits } from './limits'
import type { Spool } from './spool'

/** The body of an import. */
export interface ImportFile extends Spool {
  readonly format: ListFormat
}

/** One record of an import: a JSON object, or the cells of a row of CSV by the names in the first line. */
export interface ImportedRecord {
  /** Line on which the record begins, from 1. */
  readonly line: number
  /** Length of its text, in characters. */
  readonly length: number
  readonly members: Body
}

/** Maximum size of a part of a body that is parsed without a pause, in bytes. csv-parse takes up to 0.5 µs for a byte. */
const maxPartBytes = 16 * 1024

/** Limits of the records of an import. */
type RecordLimits = Pick<Limits, 'body' | 'bodyValues'>

/**
 * Reads the records of an import (specification: Imports).
 * @param requireTime called for each part of the body that is read, also if it contains no record; throws at the time limit
 * @throws {ApiError} `bad-body` for a line that cannot be read
 */
export function importedRecords(
  { read, format }: ImportFile,
  limits: RecordLimits,
  requireTime: () => void,
): AsyncGenerator<ImportedRecord> {
  const texts = textOf(read(), requireTime)
  return format === 'csv' ? csvRecords(texts, limits) : jsonRecords(texts, limits)
}

async function* jsonRecords(texts: AsyncIterable<string>, limits: RecordLimits): AsyncGenerator<ImportedRecord> {
  for await (const { line, text } of linesOf(texts, limits)) {
    const subject = `line ${line}`
    requireFewSeparators(text, limits.bodyValues, subject)
    const json = parseLine(text, line)
    requireFewValues(json, limits.bodyValues, { subject })
    yield { line, length: text.length, members: membersOf(json) }
  }
}

function parseLine(text: string, line: number): object {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new ApiError(
      'bad-body',
      `line ${line} is not JSON: ${(error as SyntaxError).message}; each line must have one object`,
    )
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json
  throw new ApiError('bad-body', `line ${line} must be a JSON object`)
}

/** The lines that are not blank, with their numbers. */
async function* linesOf(
  texts: AsyncIterable<string>,
  limits: RecordLimits,
): AsyncGenerator<{ readonly line: number; readonly text: string }> {
  let rest = ''
  let line = 0
  for await (const part of texts) {
    const lines = (rest + part).split('\n')
    rest = lines.pop() ?? ''
    requireShort(rest, line + lines.length + 1, limits)
    for (const text of lines) {
      line++
      requireShort(text, line, limits)
      // An asynchronous step for each blank line would take minutes for a body of line feeds.
      if (text.trim() !== '') yield { line, text }
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, text: rest }
}

/** @throws {ApiError} `body-too-large` for a line with too many bytes */
function requireShort(text: string, line: number, { body }: RecordLimits): void {
  // A character has at most three bytes for each unit of its length. Most lines need not be measured.
  if (text.length * 3 > body && Buffer.byteLength(text) > body) throw tooManyBytes(`line ${line}`, body)
}

async function* textOf(body: Readable, requireTime: () => void): AsyncGenerator<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const decode = (chunk?: Buffer): string => {
    try {
      return utf8.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw new ApiError('bad-body', 'the body is not UTF-8')
    }
  }
  for await (const chunk of body as AsyncIterable<Buffer>) {
    for (let start = 0; start < chunk.length; start += maxPartBytes) {
      requireTime()
      yield decode(chunk.subarray(start, start + maxPartBytes))
      // A part may have no record, and the next one may be in memory already: without a pause, other requests would wait.
      await setImmediate()
    }
  }
  yield decode()
}

/** A row of CSV, as csv-parse returns it with the option `info`. */
interface CsvRow {
  readonly record: readonly string[]
  readonly info: { readonly lines: number }
}

async function* csvRecords(texts: AsyncIterable<string>, limits: RecordLimits): AsyncGenerator<ImportedRecord> {
  const parser = parse({
    bom: true,
    info: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    // Counts the characters of cells, not the commas between them.
    max_record_size: limits.body,
  })
  void writeAll(withFewCells(texts), parser)
  let names: readonly string[] | undefined
  let line = 1
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRow>) {
      if (names === undefined) names = headerOf(record)
      else {
        const length = record.reduce((sum, cell) => sum + cell.length, 0)
        yield { line, length, members: new Map(names.map((name, index) => [name, record[index]])) }
      }
      line = info.lines + 1
    }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error instanceof ApiError) throw error
    const [, expected, found, at] =
      /^Invalid Record Length: expect (\d+), got (\d+) on line (\d+)/.exec(error.message) ?? []
    const cells = `the number of cells in line ${at} must be ${expected}, as in the first line, not ${found}`
    throw new ApiError('bad-body', at === undefined ? `the CSV cannot be read: ${error.message}` : cells)
  } finally {
    parser.destroy()
  }
}

/** Codes of characters that structure CSV. */
const codes = { lineFeed: 0x0a, carriageReturn: 0x0d, quote: 0x22, comma: 0x2c } as const

/**
 * Refuses a row of CSV with more cells than any record has members, before the parser makes cells of it: a row of four million
 * commas would block the event loop for 1.7 seconds.
 * @throws {ApiError} `bad-body`
 */
async function* withFewCells(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let line = 1
  let commas = 0
  let isQuoted = false
  for await (const text of texts) {
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (code === codes.lineFeed) line++
      if (code === codes.quote) isQuoted = !isQuoted
      else if (isQuoted) continue
      else if (code === codes.lineFeed || code === codes.carriageReturn) commas = 0
      else if (code === codes.comma && ++commas >= maxMembers) {
        throw new ApiError('bad-body', `line ${line} has more than ${maxMembers} cells`)
      }
    }
    yield text
  }
}

/** Writes a body to the parser, at the pace at which its rows are read. An error ends the parser. */
async function writeAll(texts: AsyncIterable<string>, parser: ReturnType<typeof parse>): Promise<void> {
  try {
    for await (const text of texts) {
      if (parser.destroyed) return
      if (!parser.write(text)) await drained(parser)
    }
    parser.end()
  } catch (error) {
    parser.destroy(error as Error)
  }
}

/** Resolves when a stream accepts more data, or is destroyed. */
function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      stream.off('drain', finish).off('close', finish)
      resolve()
    }
    stream.on('drain', finish).on('close', finish)
  })
}

/** @throws {ApiError} `bad-body` for names that no record can have: checking all of them would block the event loop */
function headerOf(names: readonly string[]): readonly string[] {
  const known = new Set<string>()
  for (const name of names) {
    if (known.has(name)) throw new ApiError('bad-body', `line 1 has the name "${name}" twice`)
    known.add(name)
  }
  // As spreadsheets write it in countries with a decimal comma.
  if (names.length === 1 && /[;\t]/.test(names.join())) {
    throw new ApiError('bad-body', 'the cells of line 1 must be separated by commas, not by semicolons or tabs')
  }
  return names
}
