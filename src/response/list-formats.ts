import { stringify } from 'csv-stringify/sync'
import type { JsonRecord } from '../read/record'
import { escapeFormula } from '../request/csv-formulas'
import { mediaTypes } from '../request/formats'
import type { ListFormat } from '../resource'
import type { ResourceView } from '../schema/resource-view'
import type { Json } from '../value/value-type'

/** Renders the records of a streamed list as text. */
export interface ListWriter {
  /** Text before the first record. */
  readonly head: string
  readonly render: (records: readonly JsonRecord[]) => string
}

/** Builds the writer of a format. @param escapeFormulas whether texts in CSV cannot be formulas of a spreadsheet */
export function buildListWriter(format: ListFormat, view: ResourceView, escapeFormulas: boolean): ListWriter {
  if (format === 'csv') return buildCsvWriter(view, escapeFormulas)
  return { head: '', render: (records) => records.map((record) => `${JSON.stringify(record)}\n`).join('') }
}

/** Headers of a streamed list. */
export function formatHeaders(format: ListFormat, { name }: ResourceView): Readonly<Record<string, string>> {
  const parameters = format === 'csv' ? 'charset=utf-8; header=present' : 'charset=utf-8'
  return {
    'Content-Type': `${mediaTypes[format]}; ${parameters}`,
    Vary: 'Accept',
    'Content-Disposition': `attachment; filename="${name}.${format}"`,
  }
}

/** RFC 4180 with a header. The fields of embedded entities have columns of their own, named as in filters. */
function buildCsvWriter({ outputFields }: ResourceView, escapeFormulas: boolean): ListWriter {
  const paths = outputFields.map(({ path }) => path)
  const toText = escapeFormulas ? (value: Json): string => escapeFormula(cellOf(value)) : cellOf
  const toRow = (record: JsonRecord): readonly string[] => paths.map((path) => toText(valueAt(record, path)))
  const toCsv = (rows: readonly (readonly string[])[]): string =>
    // A record of one empty value would be an empty line, which readers skip.
    stringify(rows as string[][], {
      record_delimiter: 'windows',
      // Otherwise a line feed or a carriage return alone would not be quoted, and end the row for readers.
      quote_record_delimiter: true,
      quoted_empty: paths.length === 1,
    })
  return {
    head: toCsv([outputFields.map(({ name }) => name)]),
    render: (records) => toCsv(records.map(toRow)),
  }
}

function valueAt(record: JsonRecord, path: readonly string[]): Json {
  let value: Json | JsonRecord = record
  for (const name of path) value = (value as JsonRecord)[name] ?? null
  return value as Json
}

function cellOf(value: Json): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
