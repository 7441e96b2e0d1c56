import type { RawRow } from '../connection/statement'
import type { ResourceView } from '../schema/resource-view'

/** Size of a row, in bytes: the lengths of its strings and buffers. Other values are short. */
export function bytesOf(raw: RawRow): number {
  let bytes = 0
  for (const value of valuesOf(raw)) bytes += valueBytesOf(value)
  return bytes
}

/** Memory that is counted for each value of a row in addition to its text, in bytes. Otherwise rows of numbers would count as nothing. */
const countedValueBytes = 8

/** Approximate memory of rows, in bytes. */
export function memoryOfRows(rows: readonly RawRow[]): number {
  let bytes = 0
  for (const raw of rows) {
    for (const value of valuesOf(raw)) bytes += countedValueBytes + valueBytesOf(value)
  }
  return bytes
}

/** Iterating an array directly is several times faster than `Object.values`. */
function valuesOf(raw: RawRow): Iterable<unknown> {
  return Array.isArray(raw) ? raw : Object.values(raw)
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
