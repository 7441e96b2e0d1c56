import { type FieldErrors, ValueError } from '../errors'
import type { CursorTokens } from '../request/cursor'
import type { ListRequest } from '../request/list-request'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import { filterValues } from './filters'
import { type KeysetCursor, type ListQuery, type Order, type Query, rootAlias, type Scope } from './query'
import { type QueryContext, queryShapeOf } from './query-shape'

/**
 * Resolves the names and values of a list request. One row more than the page is asked for, to know of a next one (specification: Links). A page
 * before a place is asked for backwards.
 * @param errors receives every name and value that cannot be answered
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
    values: filterValues(shape, request.filters, paging.limits, errors),
    select: 'columns',
    cacheKey,
    ordering: cursor?.direction === 'before' ? ordering.map(reversed) : ordering,
    cursor,
    limit: request.limit + 1,
    offset: request.after ? (cursor?.skip ?? 0) : (request.page - 1) * request.limit,
  }
}

/** How much may be asked for, and how a page says where it begins. */
export interface Paging extends QueryContext {
  readonly cursorTokens: CursorTokens
}

function cursorOf(
  resource: Resource,
  { after, limit }: ListRequest,
  ordering: readonly Order[],
  { limits, cursorTokens }: Paging,
  errors: FieldErrors,
): KeysetCursor | undefined {
  if (after === undefined && resource.paging === 'pages') return undefined
  const order = orderName(resource, ordering)
  const canTell = ordering.every(({ isShown }) => isShown)
  if (!after) return canTell ? { direction: 'after', values: undefined, skip: 0, order } : undefined
  const cursor = canTell ? cursorTokens.read(after, order) : undefined
  if (cursor !== undefined && (cursor.values === undefined || cursor.values.length === ordering.length)) {
    if (cursor.skip + limit <= limits.depth) return { ...cursor, order }
    errors.add(
      'after',
      `leads more than ${limits.depth} records deep without a place to begin at; order by another field`,
    )
    return undefined
  }
  errors.add('after', wrongCursor)
  return undefined
}

/** What is wrong with a token that the list has not given out, reading on from its parameter. */
export const wrongCursor =
  'is no token of this list and its ordering; take it from "next" or "previous", or leave it empty'

/** The same list with tokens; as it is where there can be none. */
export function byKeyset(plan: ListQuery): ListQuery {
  const { resource, ordering } = plan
  if (!resource.optionalParameters.has('after') || !ordering.every(({ isShown }) => isShown)) return plan
  return { ...plan, cursor: { direction: 'after', values: undefined, skip: 0, order: orderName(resource, ordering) } }
}

/** What tokens of a list are about: a place in one order of one resource. */
function orderName({ name }: Resource, ordering: readonly Order[]): string {
  const keys = ordering.map(({ name: key, descending, nulls }) => {
    const placement = descending === (nulls === 'last') ? '' : `__nulls${nulls}`
    return `${descending ? '-' : ''}${key}${placement}`
  })
  return [name, ...keys].join(' ')
}

function reversed(order: Order): Order {
  return { ...order, descending: !order.descending, nulls: order.nulls === 'first' ? 'last' : 'first' }
}

/** The record of this key. */
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
 * Reads the last segment of an item path.
 * @returns undefined for what cannot be the key of a record
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
