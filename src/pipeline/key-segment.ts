/**
 * Last segment of the path of a record. A comma separates the values of a composite key, and need not be encoded in a path.
 * Lone surrogates, which cannot be percent-encoded, are replaced.
 */
export function segmentOfKey(key: unknown): string {
  return encodeURIComponent(String(key).toWellFormed()).replaceAll('%2C', ',')
}
