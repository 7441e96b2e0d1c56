/**
 * Converts an object that is not a date into a bind parameter of mysql2 and of SQLite's drivers: binary data into a
 * `Buffer`, and an object of another class, such as the decimal number of a library, into the result of its `toString()`.
 * The drivers would treat it otherwise: better-sqlite3 spreads an array over the placeholders of other columns, sqlite3
 * stores `[object Object]`, and mysql2 sends JSON.
 * @throws {TypeError} for an array, and for an object without its own `toString()`
 */
export function objectParameter(value: object): Buffer | string {
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
