import { selectedRecords } from './includes'
import { type ListCase, pathOf } from './lists'
import type { Rows } from './rows'

/** A request for a streamed list. */
export interface FormatCase extends ListCase {
  readonly format: 'csv' | 'ndjson'
  /** Whether the header `Accept` names the format, instead of the parameter. */
  readonly byHeader: boolean
}

type Cells = Readonly<Record<string, string>>

const mediaTypes = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const

/** The request line, and the headers. */
export function formatRequestOf(
  request: FormatCase,
): readonly [line: string, headers: Readonly<Record<string, string>>] {
  const { format, byHeader } = request
  const path = pathOf({ ...request, page: 1 })
  if (byHeader) return [`GET ${path}`, { Accept: `${mediaTypes[format]}, */*;q=0.1` }]
  return [`GET ${path}${path.includes('?') ? '&' : '?'}format=${format}`, {}]
}

/** The records of a streamed list; those of CSV as texts. */
export function streamedRecords(rows: Rows, request: FormatCase): readonly object[] {
  const records = selectedRecords(rows, request).slice(0, request.limit)
  if (request.format === 'ndjson') return records
  return records.map((record) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, escaped(String(value ?? ''))])),
  )
}

/** Texts that start like a formula have an apostrophe in front; none of the generated texts does, but negative numbers do not. */
const escaped = (text: string): string => (/^[=+@]|^-\D/.test(text) ? `'${text}` : text)

/** Parses the body of a response. */
export function parseStreamed(format: FormatCase['format'], text: string): readonly object[] {
  if (format === 'csv') return parseCsv(text)
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new Error('the last line is incomplete')
  return lines.map((line) => JSON.parse(line) as object)
}

/** Parses CSV as in RFC 4180, with a header. */
function parseCsv(text: string): readonly Cells[] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end === '\r\n') rows.push([])
  }
  const [names = [], ...others] = rows
  if (rows.at(-1)?.length !== 0) throw new Error('the last row is incomplete')
  return others.slice(0, -1).map((cells) => {
    if (cells.length !== names.length) throw new Error(`a row has ${cells.length} cells, not ${names.length}`)
    return Object.fromEntries(cells.map((cell, index) => [names[index] ?? '', cell]))
  })
}
