import { isDate } from 'node:util/types'

/**
 * Converts the value of a bind parameter into one that mysql2 accepts. An object that is neither a date nor binary,
 * such as the decimal number of a library, is sent as the result of its `toString()`: mysql2 would send it as JSON.
 * @throws {TypeError} for an array, and for an object without its own `toString()`
 */
export function mysqlParameter(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || isDate(value)) return value
  return ArrayBuffer.isView(value) ? toBuffer(value) : textOf(value)
}

/** Converts binary data into a `Buffer`: mysql2 treats other classes, such as `Uint8Array`, as text. */
export function toBuffer(view: ArrayBufferView): Buffer {
  return Buffer.isBuffer(view) ? view : Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}

function textOf(value: object): string {
  const hasText = typeof value.toString === 'function' && value.toString !== Object.prototype.toString
  if (!hasText || Array.isArray(value)) {
    throw new TypeError(
      `${Array.isArray(value) ? 'an array' : 'an object without its own toString()'} cannot be stored in a column: ` +
        'the listener or transformer that sets it must set a string, number, bigint, boolean, Date or Buffer',
    )
  }
  return String(value)
}
