import { groupOf, isGroup, memberOf, textOf } from './group-text.ts'
import { includesText } from './include-text.ts'
import type { AggregateOptions, ListOptions } from './types.ts'

/** Options of all requests that have a query. */
export type QueryOptions = ListOptions &
  Partial<AggregateOptions<string, string, object>> & { readonly include?: object | undefined }

/**
 * Query string of a list, of groups or, without filters, of an item, with its question mark, or empty. Undefined values
 * are left out.
 */
export function queryOf(filters: object, options: QueryOptions): string {
  const { ordering, limit, page, after, count, search, fields, functions: aggregate, by, having = {} } = options
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
        /^(ordering|limit|page)$/.test(name) ? `${name}__eq` : name,
        Array.isArray(value) ? value.map(memberOf).join() : value,
      )
  }
  const parameters = { ordering, limit, page, after, count, search, fields, include, aggregate, by, ...having }
  for (const [name, value] of Object.entries(parameters)) add(name, value)
  const text = String(query)
  return text === '' ? '' : `?${text}`
}
