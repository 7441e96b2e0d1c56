import type { RawRow } from '../connection/statement'
import type { ResourceView } from '../schema/resource-view'

/** Approximate memory of a row, in bytes: the lengths of its strings and buffers. Other values are short. */
export function bytesOf(raw: RawRow): number {
  let bytes = 0
  for (const value of Object.values(raw)) bytes += valueBytesOf(value)
  return bytes
}

function valueBytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  return Buffer.isBuffer(value) ? value.length : 0
}

/**
 * Returns a function for the approximate size of the shown columns in a row of a view, in bytes. Responses may depend on
 * it, because hidden columns do not affect it.
 */
export function shownBytesOf({ columns, outputFields }: ResourceView): (raw: RawRow) => number {
  const positions = outputFields.flatMap((field) => field.columns.map((column) => columns.indexOf(column)))
  const shown = [...new Set(positions)]
  return (raw) => shown.reduce((sum, position) => sum + valueBytesOf(raw[position]), 0)
}
