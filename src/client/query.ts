import type { ListOptions } from './types.ts'

/** Query string of a list, empty or with its question mark. Values that are undefined are left out. */
export function queryOf(filters: object, { ordering, limit, page, after, count }: ListOptions): string {
  const query = new URLSearchParams()
  const add = (name: string, value: unknown): void => {
    if (value !== undefined) query.append(name, textOf(value))
  }
  for (const [name, value] of Object.entries(filters)) {
    if (isGroup(name, value)) add(name, value && groupOf(value))
    // Parameters win over fields of their name (specification: Names of filters).
    else
      add(
        /^(ordering|limit|page)$/.test(name) ? `${name}__eq` : name,
        Array.isArray(value) ? value.map(memberOf).join() : value,
      )
  }
  for (const [name, value] of Object.entries({ ordering, limit, page, after, count })) add(name, value)
  const text = String(query)
  return text === '' ? '' : `?${text}`
}

/** A group of filters, `or` or `and` with an array of them. */
function isGroup(name: string, value: unknown): value is object | undefined {
  return /^(or|and|not)$/.test(name) && (value === undefined || typeof value === 'object')
}

/** The value of a parameter `or`, `and` or `not`, in which an object of several filters is a group of its own. */
function groupOf(group: object): string {
  const members = Array.isArray(group) ? group.map((filters) => all(membersOf(filters))) : membersOf(group)
  return `(${members.join()})`
}

function all(members: readonly string[]): string {
  return members.length === 1 ? String(members[0]) : `and(${members.join()})`
}

function membersOf(filters: object): readonly string[] {
  return Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      if (isGroup(name, value)) return name + groupOf(value ?? {})
      return `${name}:${Array.isArray(value) ? `(${value.map(memberOf).join()})` : quoted(textOf(value))}`
    })
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

/** In double quotes where it holds a character that groups and lists are made of (specification: Operators). */
function quoted(text: string): string {
  return /[",()]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A member of a list, in which nothing is written as `""`. */
export function memberOf(value: unknown): string {
  return quoted(textOf(value)) || '""'
}
