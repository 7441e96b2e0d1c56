/**
 * Copies a text of a request into a string of its own. V8 represents a part of a string that has 13 characters or more,
 * and the concatenation of such parts, by a reference to the whole string: a cached name would keep the whole URL in
 * memory, which has up to 16 KB.
 */
export function copyOf(text: string): string {
  return Buffer.from(text).toString()
}
