import { isDate } from 'node:util/types'

/**
 * Value of a bind parameter as mysql2 can send it. Of an object that is neither a date nor bytes it sends its text, as of a decimal number of a
 * library: mysql2 would send it as JSON.
 * @throws {TypeError} for an array, and for an object that has no text of its own
 */
export function mysqlParameter(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || isDate(value)) return value
  return ArrayBuffer.isView(value) ? toBuffer(value) : textOf(value)
}

/** Bytes as a `Buffer`: mysql2 takes those of other classes for text. */
export function toBuffer(view: ArrayBufferView): Buffer {
  return Buffer.isBuffer(view) ? view : Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}

function textOf(value: object): string {
  const hasText = typeof value.toString === 'function' && value.toString !== Object.prototype.toString
  if (!hasText || Array.isArray(value)) {
    throw new TypeError(
      `${Array.isArray(value) ? 'an array' : 'an object without a toString() of its own'} cannot be stored in a column: ` +
        'have the listener or transformer that sets it set a string, number, bigint, boolean, Date or Buffer',
    )
  }
  return String(value)
}
