import { type FieldErrors, ValueError } from '../errors'
import type { CursorTokens } from '../request/cursor'
import type { ListRequest } from '../request/list-request'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import { parseFilterValues } from './filters'
import { type KeysetCursor, type ListQuery, type Order, type Query, rootAlias, type Scope } from './query'
import { type QueryContext, queryShapeOf } from './query-shape'

/**
 * Builds the query of a list request. It reads one row more than the page has, to find out whether there is a next page
 * (specification: Links). A page before a cursor is read in reverse order.
 * @param errors receives every invalid name and value
 */
export function parseListQuery(
  resource: Resource,
  request: ListRequest,
  paging: Paging,
  errors: FieldErrors,
): ListQuery {
  const shape = queryShapeOf(resource, request, paging, errors)
  const { cacheKey, scope, ordering } = shape
  const cursor = cursorOf(resource, request, ordering, paging, errors)
  return {
    resource,
    scope,
    values: parseFilterValues(shape, request.filters, paging.limits, errors),
    select: 'columns',
    cacheKey,
    ordering: cursor?.direction === 'before' ? ordering.map(reversed) : ordering,
    cursor,
    limit: request.limit + 1,
    offset: request.after ? (cursor?.skip ?? 0) : (request.page - 1) * request.limit,
  }
}

/** Limits, cache and cursor tokens of a mount, for building list queries. */
export interface Paging extends QueryContext {
  readonly cursorTokens: CursorTokens
}

/** @returns undefined for paging by number, and if `after` is invalid */
function cursorOf(
  resource: Resource,
  { after, limit }: ListRequest,
  ordering: readonly Order[],
  { limits, cursorTokens }: Paging,
  errors: FieldErrors,
): KeysetCursor | undefined {
  if (after === undefined && resource.paging === 'pages') return undefined
  const order = orderName(resource, ordering)
  const hasCursors = ordering.every(({ isShown }) => isShown)
  if (!after) return hasCursors ? { direction: 'after', values: undefined, skip: 0, order } : undefined
  const cursor = hasCursors ? cursorTokens.read(after, order) : undefined
  if (cursor !== undefined && (cursor.values === undefined || cursor.values.length === ordering.length)) {
    if (cursor.skip + limit <= limits.depth) return { ...cursor, order }
    errors.add(
      'after',
      `leads more than ${limits.depth} records past the last record that a token can hold; order by another field`,
    )
    return undefined
  }
  errors.add('after', invalidCursorMessage)
  return undefined
}

/** Error message for an invalid token; continues the sentence that starts with the parameter's name. */
export const invalidCursorMessage =
  'is not a token of this list and its ordering; take it from "next" or "previous", or leave it empty'

/** Returns the same list paged by keyset, or the list itself if it cannot have cursors. */
export function withKeysetPaging(query: ListQuery): ListQuery {
  const { resource, ordering } = query
  if (!resource.optionalParameters.has('after') || !ordering.every(({ isShown }) => isShown)) return query
  return { ...query, cursor: { direction: 'after', values: undefined, skip: 0, order: orderName(resource, ordering) } }
}

/** Identifies a resource and its ordering in tokens; see `CursorTokens`. */
function orderName({ name }: Resource, ordering: readonly Order[]): string {
  const keys = ordering.map(({ name: columnName, descending, nulls }) => {
    // Added only if it is not the default: nulls are the least.
    const placement = descending === (nulls === 'last') ? '' : `__nulls${nulls}`
    return `${descending ? '-' : ''}${columnName}${placement}`
  })
  return [name, ...keys].join(' ')
}

function reversed(order: Order): Order {
  return { ...order, descending: !order.descending, nulls: order.nulls === 'first' ? 'last' : 'first' }
}

/** Query for the record with this key. */
export function itemQuery(resource: Resource, key: unknown, select: Query['select'] = 'columns'): Query {
  return { resource, scope: scopeOfKey(resource), values: [[key]], select, ordering: [], cursor: undefined }
}

const scopeOfKey = memoize(
  ({ key: field }: Resource): Scope => ({
    joins: [],
    where: { type: 'compare', on: { alias: rootAlias, field }, operator: 'eq', slot: 0 },
  }),
)

/**
 * Parses the last segment of an item path.
 * @returns undefined if it cannot be the key of a record
 */
export function parseKey({ key }: Resource, segment: string): unknown {
  if (key.valueType.inPath !== undefined && !key.valueType.inPath.test(segment)) return undefined
  try {
    return key.valueType.fromText(decodeURIComponent(segment))
  } catch (error) {
    if (error instanceof ValueError || error instanceof URIError) return undefined
    throw error
  }
}
