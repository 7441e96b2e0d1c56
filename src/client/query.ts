import type { AggregateOptions, ListOptions } from './types.ts'

/** Options of all kinds of reads. */
type QueryOptions = ListOptions & Partial<AggregateOptions<string, string, object>>

/**
 * Query string of a list, of groups or, without filters, of an item, with its question mark, or empty. Undefined values
 * are left out.
 */
export function queryOf(filters: object, options: QueryOptions): string {
  const { ordering, limit, page, after, count, search, fields, functions: aggregate, by, having = {} } = options
  const query = new URLSearchParams()
  const add = (name: string, value: unknown): void => {
    if (value !== undefined) query.append(name, textOf(value))
  }
  for (const [name, value] of Object.entries(filters)) {
    if (isGroup(name, value)) add(name, value && groupOf(value))
    // A field with the name of a parameter needs an operator (specification: Names of filters).
    else
      add(
        /^(ordering|limit|page)$/.test(name) ? `${name}__eq` : name,
        Array.isArray(value) ? value.map(memberOf).join() : value,
      )
  }
  const parameters = { ordering, limit, page, after, count, search, fields, aggregate, by, ...having }
  for (const [name, value] of Object.entries(parameters)) add(name, value)
  const text = String(query)
  return text === '' ? '' : `?${text}`
}

/**
 * Whether an entry is a group of filters. A field may also be called `or`, `and` or `not`: its value is not an object.
 */
function isGroup(name: string, value: unknown): value is object | undefined {
  return /^(or|and|not)$/.test(name) && (value === undefined || typeof value === 'object')
}

/** Value of a parameter `or`, `and` or `not`. An object with several filters becomes a nested `and`. */
function groupOf(group: object): string {
  const members = Array.isArray(group) ? group.map((filters) => conjunction(membersOf(filters))) : membersOf(group)
  return `(${members.join()})`
}

function conjunction(members: readonly string[]): string {
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

/** Puts a value in double quotes if it contains syntax of groups or lists (specification: Operators, Groups). */
function quoted(text: string): string {
  return /[",()]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Member of a comma-separated list. The empty string is `""`. */
export function memberOf(value: unknown): string {
  return quoted(textOf(value)) || '""'
}
