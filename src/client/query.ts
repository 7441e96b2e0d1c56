import { groupOf, isGroup, memberOf, textOf } from './group-text.ts'
import { includesText } from './include-text.ts'
import type { MatchingOptions } from './request-options.ts'
import type { AggregateOptions, ListOptions } from './types.ts'

/** Options of all requests that have a query. */
export type QueryOptions = ListOptions &
  MatchingOptions &
  Partial<AggregateOptions<string, string, object>> & {
    readonly include?: object | undefined
    readonly on?: string | readonly string[] | undefined
  }

/**
 * Query string of a list, of groups or, without filters, of an item, with its question mark, or empty. Undefined values
 * are left out.
 */
export function queryOf(filters: object, options: QueryOptions): string {
  const {
    ordering,
    limit,
    page,
    after,
    count,
    search,
    max,
    fields,
    on,
    functions: aggregate,
    by,
    having = {},
  } = options
  const include = includesText(options.include)
  const query = new URLSearchParams()
  const add = (name: string, value: unknown): void => {
    if (value !== undefined) query.append(name, textOf(value))
  }
  for (const [name, value] of Object.entries(filters)) {
    if (isGroup(name, value)) add(name, value && groupOf(value))
    // A field with the name of a parameter needs an operator (specification: Names of filters).
    else
      add(
        /^(ordering|limit|page|max)$/.test(name) ? `${name}__eq` : name,
        Array.isArray(value) ? value.map(memberOf).join() : value,
      )
  }
  const parameters = {
    ...{ ordering, limit, page, after, count, search, max, fields, include, on_conflict: on, aggregate, by },
    ...having,
  }
  for (const [name, value] of Object.entries(parameters)) add(name, value)
  const text = String(query)
  return text === '' ? '' : `?${text}`
}

/**
 * Query string of a write of all records that match. Undefined is not left out of its filters, and null is not sent as the
 * text `null`: the write would be for other records than intended.
 * @throws {TypeError} without filters and search, and for a filter that is undefined or null
 */
export function matchingQueryOf(filters: object, options: MatchingOptions = {}): string {
  requireValues(filters, 'filters')
  if (Object.keys(filters).length === 0 && !options.search) {
    throw new TypeError('updateMany and deleteMany need a filter or a search, so that not all records are written')
  }
  return queryOf(filters, options)
}

/** @param path names of the members, for messages: `filters.or.0.score` */
function requireValues(value: unknown, path: string): void {
  if (value === undefined || value === null)
    throw new TypeError(`${path} is ${value}: updateMany and deleteMany need a value for it`)
  if (typeof value !== 'object') return
  for (const [name, member] of Object.entries(value)) requireValues(member, `${path}.${name}`)
}
