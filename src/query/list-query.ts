import type { FieldErrors } from '../errors'
import type { CursorTokens } from '../request/cursor'
import type { ListRequest } from '../request/list-request'
import type { ResourceView } from '../schema/resource-view'
import { parseInclusion } from './parse-inclusion'
import { type KeysetCursor, type ListQuery, type SortColumn, whereDeleted } from './query'
import { type QueryContext, queryShapeOf } from './query-shape'
import { ValueBudget } from './value-budget'
import { parseValues } from './values'

/**
 * Builds the query of a list request. It reads one row more than the page has, to find out whether there is a next page
 * (specification: Links). A page before a cursor is read in reverse order.
 * @param errors receives every invalid name and value
 */
export function parseListQuery(
  view: ResourceView,
  request: ListRequest,
  context: ListQueryContext,
  errors: FieldErrors,
): ListQuery {
  const shape = queryShapeOf(view, request, context, errors)
  const { cacheKey, joins, where, ordering, guardedViews } = shape
  const cursor = cursorOf(view, request, ordering, context, errors)
  const budget = new ValueBudget(context.limits)
  const values = parseValues(shape, request, context.limits, errors, budget)
  const inclusion =
    request.includes.length === 0
      ? undefined
      : parseInclusion(shape.inclusion, request.includes, context.limits, budget, errors)
  const { deleted } = request
  return {
    view,
    joins,
    where: deleted === undefined ? where : whereDeleted(view, deleted, where),
    values,
    select: 'columns',
    cacheKey,
    guardedViews,
    included: shape.includedRecords,
    inclusion,
    ordering: cursor?.direction === 'before' ? ordering.map(reversed) : ordering,
    cursor,
    readsDeleted: deleted !== undefined,
    limit: request.limit + 1,
    offset: request.after ? (cursor?.skip ?? 0) : (request.page - 1) * request.limit,
  }
}

/** What building a list query needs of its mount: limits, the cache of query shapes, and cursor tokens. */
export interface ListQueryContext extends QueryContext {
  readonly cursorTokens: CursorTokens
}

/** Cursor of a list request. @returns undefined for paging by page number, and if `after` is invalid */
function cursorOf(
  view: ResourceView,
  { after, limit }: ListRequest,
  ordering: readonly SortColumn[],
  { limits, cursorTokens }: ListQueryContext,
  errors: FieldErrors,
): KeysetCursor | undefined {
  if (after === undefined && view.paging === 'pages') return undefined
  const orderingId = orderingIdOf(view, ordering)
  const hasCursors = ordering.every(({ isShown }) => isShown)
  if (!after) return hasCursors ? { direction: 'after', values: undefined, skip: 0, orderingId } : undefined
  const cursor = hasCursors ? cursorTokens.read(after, orderingId) : undefined
  if (cursor !== undefined && (cursor.values === undefined || cursor.values.length === ordering.length)) {
    if (cursor.skip + limit <= limits.depth) return { ...cursor, orderingId }
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
  const { view, ordering } = query
  if (!view.optionalParameters.has('after') || !ordering.every(({ isShown }) => isShown)) return query
  return {
    ...query,
    cursor: { direction: 'after', values: undefined, skip: 0, orderingId: orderingIdOf(view, ordering) },
  }
}

/** Text that identifies a resource and its ordering in tokens; see `CursorTokens`. */
function orderingIdOf({ name }: ResourceView, ordering: readonly SortColumn[]): string {
  const keys = ordering.map(({ name: columnName, descending, nulls }) => {
    // Added only if it differs from the default: nulls sort as the lowest values.
    const placement = descending === (nulls === 'last') ? '' : `__nulls${nulls}`
    return `${descending ? '-' : ''}${columnName}${placement}`
  })
  return [name, ...keys].join(' ')
}

function reversed(sortColumn: SortColumn): SortColumn {
  const { descending, nulls } = sortColumn
  return { ...sortColumn, descending: !descending, nulls: nulls === 'first' ? 'last' : 'first' }
}
