/**
 * Converts an object other than a `Date` into a bind parameter of mysql2 and of SQLite's drivers. Binary data becomes a
 * `Buffer`. Any other object, such as a `Decimal` of decimal.js, becomes the result of its `toString()`.
 *
 * Without this conversion, better-sqlite3 spreads an array over the placeholders of other columns, sqlite3 stores
 * `[object Object]`, and mysql2 sends JSON.
 * @throws {TypeError} for an array, and for an object without its own `toString()`
 */
export function objectParameter(value: object): Buffer | string {
  return ArrayBuffer.isView(value) ? toBuffer(value) : textOf(value)
}

/** Converts binary data into a `Buffer`: mysql2 treats other classes, such as `Uint8Array`, as text. */
export function toBuffer(view: ArrayBufferView): Buffer {
  return Buffer.isBuffer(view) ? view : Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}

/** Whether a value is an object with its own `toString()`. */
export function hasText(value: unknown): boolean {
  const object: object = Object(value)
  return typeof object.toString === 'function' && object.toString !== Object.prototype.toString
}

function textOf(value: object): string {
  if (!hasText(value) || Array.isArray(value)) {
    throw new TypeError(
      `${Array.isArray(value) ? 'an array' : 'an object without its own toString()'} cannot be stored in a column: ` +
        'the listener or transformer that sets it must set a string, number, bigint, boolean, Date or Buffer',
    )
  }
  return String(value)
}
