import { type Include, includeParameterOf, selectedRecords } from './includes'
import { groupParameterOf, type ListQuery, matches, parameterOf, rotate, searchParameterOf, sortKeyOf } from './model'
import type { Rows } from './rows'

/** A request for a list, by page number or by keyset. */
export interface ListCase extends ListQuery {
  /** Undefined: without the parameter. */
  readonly limit: number | undefined
  /** Undefined: by keyset. */
  readonly page: number | undefined
  readonly count: 'exact' | 'capped' | undefined
  readonly includes: readonly Include[]
  /** Names of fields; undefined for all. */
  readonly fields: readonly string[] | undefined
  /** Number of positions by which the parameters of the query string are rotated. */
  readonly turn: number
}

export type JsonRecord = Readonly<Record<string, unknown>>

/** The body of a response to a list. */
export interface Envelope {
  readonly meta: {
    readonly model: string
    readonly page: number
    readonly next: string
    readonly previous: string
    readonly total?: number
    readonly total_capped?: boolean
  }
  readonly objects: readonly JsonRecord[]
}

const defaultLimit = 20
/** The limit of `count=capped` in these tests. */
export const countLimit = 4

/** The parameters except `limit`, `page` and `after`, in the order in which links repeat them. */
function othersOf({ filters, groups, words, ordering, count, includes, fields, turn }: ListCase): readonly string[] {
  const names = ordering.map(sortKeyOf)
  const include = includeParameterOf(includes)
  const all = [
    ...filters.map(parameterOf),
    ...groups.map(groupParameterOf),
    ...searchParameterOf(words),
    ...(count === undefined ? [] : [`count=${count}`]),
    ...(names.length === 0 ? [] : [`ordering=${names.join()}`]),
    ...(include === undefined ? [] : [include]),
    ...(fields === undefined ? [] : [`fields=${fields.join()}`]),
  ]
  return rotate(all, turn)
}

/** Path and query string of the request. */
export function pathOf(request: ListCase): string {
  const { resource, limit, page, turn } = request
  const paging = [
    ...(limit === undefined ? [] : [`limit=${limit}`]),
    ...(page === undefined ? ['after='] : page === 1 ? [] : [`page=${page}`]),
  ]
  const others = othersOf(request)
  const at = turn % (others.length + 1)
  const parameters = [...others.slice(0, at), ...paging, ...others.slice(at)]
  return `/api/${resource}/${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`
}

/** The beginning of a link to a page; by keyset, a token follows. */
export function linkTo(request: ListCase, page: number): string {
  const parameters = [...othersOf(request), `limit=${request.limit ?? defaultLimit}`, `page=${page}`]
  return `/api/${request.resource}/?${parameters.join('&')}`
}

/** Number of records on all pages, in the form of the envelope. */
export function totalsOf(rows: Rows, request: ListCase): Pick<Envelope['meta'], 'total' | 'total_capped'> {
  if (request.count === undefined) return {}
  const total = matches(rows, request).length
  if (request.count === 'exact') return { total }
  return { total: Math.min(total, countLimit), total_capped: total > countLimit }
}

/** The pages of a list, of which there is at least one. */
export function pagesOf(rows: Rows, request: ListCase): readonly (readonly JsonRecord[])[] {
  const found = selectedRecords(rows, request)
  const limit = request.limit ?? defaultLimit
  if (limit === 0) return [[]]
  const count = Math.max(1, Math.ceil(found.length / limit))
  return Array.from({ length: count }, (_, index) => found.slice(index * limit, (index + 1) * limit))
}

/** The response to a list by page number. */
export function envelopeOf(rows: Rows, request: ListCase): Envelope {
  const pages = pagesOf(rows, request)
  const page = request.page ?? 1
  return {
    meta: {
      model: request.resource,
      page,
      next: page < pages.length ? linkTo(request, page + 1) : '',
      previous: page > 1 && request.limit !== 0 ? linkTo(request, page - 1) : '',
      ...totalsOf(rows, request),
    },
    objects: pages[page - 1] ?? [],
  }
}
