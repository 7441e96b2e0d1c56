/** The query string of a list, empty or with its question mark. Values that are undefined are left out. */
export function queryOf(filters: unknown, { ordering, ...options }: { readonly [name: string]: unknown }): string {
  const query = new URLSearchParams()
  const add = (name: string, value: unknown): void => {
    if (value !== undefined) query.append(name, textOf(value))
  }
  for (const [name, value] of Object.entries(Object(filters)))
    add(name, Array.isArray(value) ? value.map(memberOf).join() : value)
  add('ordering', Array.isArray(ordering) ? ordering.join() : ordering)
  for (const [name, value] of Object.entries(options)) add(name, value)
  const text = String(query)
  return text === '' ? '' : `?${text}`
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

/** In double quotes where it holds commas or quotes, or is empty (D16). */
function memberOf(value: unknown): string {
  const text = textOf(value)
  return text === '' || /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
