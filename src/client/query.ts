import type { ListOptions } from './types.ts'

/** The query string of a list, empty or with its question mark. Values that are undefined are left out. */
export function queryOf(filters: object, { ordering, limit, page, after }: ListOptions): string {
  const query = new URLSearchParams()
  const add = (name: string, value: unknown): void => {
    if (value !== undefined) query.append(name, textOf(value))
  }
  for (const [name, value] of Object.entries(filters)) {
    // Parameters win over fields of their name (D15).
    const unreserved = /^(ordering|limit|page)$/.test(name) ? `${name}__eq` : name
    add(unreserved, Array.isArray(value) ? value.map(memberOf).join() : value)
  }
  for (const [name, value] of Object.entries({ ordering, limit, page, after })) add(name, value)
  const text = String(query)
  return text === '' ? '' : `?${text}`
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

/** In double quotes where it holds commas or quotes, or is empty (D16). */
export function memberOf(value: unknown): string {
  const text = textOf(value)
  return text === '' || /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
