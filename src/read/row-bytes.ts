import type { RawRow } from '../connection/statement'
import type { ResourceView } from '../schema/resource-view'

/** Memory of each value of a row besides its text, in bytes. */
const rowValueBytes = 8

/** Approximate memory of a row, in bytes: the lengths of its strings and buffers, and a constant for each value. */
export function bytesOf(raw: RawRow): number {
  let bytes = 0
  // To iterate an array is several times as fast as to list its values first.
  const values: Iterable<unknown> = Array.isArray(raw) ? raw : Object.values(raw)
  for (const value of values) bytes += rowValueBytes + valueBytesOf(value)
  return bytes
}

/** As {@link bytesOf}, for several rows. */
export function bytesOfRows(rows: readonly RawRow[]): number {
  return rows.reduce((sum, raw) => sum + bytesOf(raw), 0)
}

function valueBytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  return Buffer.isBuffer(value) ? value.length : 0
}

/** Size of a member of a JSON object besides its name and a text: quotation marks, separators and a short value. */
const memberBytes = 8

/**
 * Size of the JSON of a record of a view without its texts, in bytes: the names of its fields, and short values. It is the
 * same for all records.
 */
export function shortBytesOf({ outputFields }: ResourceView): number {
  return outputFields.reduce((sum, { name }) => sum + name.length + memberBytes, 0)
}

/**
 * Returns a function for the approximate size of the JSON of a row's record, in bytes. Responses may depend on it, because
 * hidden columns do not affect it.
 */
export function shownBytesOf(view: ResourceView): (raw: RawRow) => number {
  const { columns, outputFields } = view
  const positions = outputFields.flatMap((field) => field.columns.map((column) => columns.indexOf(column)))
  const shown = [...new Set(positions)]
  const shortBytes = shortBytesOf(view)
  return (raw) => shown.reduce((sum, position) => sum + valueBytesOf(raw[position]), shortBytes)
}
