import { type FieldErrors, ValueError } from '../errors'
import type { ListRequest } from '../request/list-request'
import type { PageTokens } from '../request/page-token'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import { planValues } from './filters'
import { type OutlineContext, outlineOf } from './outline'
import { type KeysetStart, type ListPlan, type Order, rootAlias, type Scope, type SelectPlan } from './plan'

/**
 * Resolves the names and values of a list request. One row more than the page is asked for, to know of a next one (specification: Links). A page
 * before a place is asked for backwards.
 * @param errors receives every name and value that cannot be answered
 */
export function planList(resource: Resource, request: ListRequest, paging: Paging, errors: FieldErrors): ListPlan {
  const outline = outlineOf(resource, request, paging, errors)
  const { names, scope, ordering } = outline
  const start = planStart(resource, request, ordering, paging, errors)
  return {
    resource,
    scope,
    values: planValues(outline, request.filters, paging.limits, errors),
    columns: 'row',
    names,
    ordering: start?.direction === 'before' ? ordering.map(reversed) : ordering,
    start,
    limit: request.limit + 1,
    offset: request.after ? (start?.skip ?? 0) : (request.page - 1) * request.limit,
  }
}

/** How much may be asked for, and how a page says where it begins. */
export interface Paging extends OutlineContext {
  readonly pageTokens: PageTokens
}

function planStart(
  resource: Resource,
  { after, limit }: ListRequest,
  ordering: readonly Order[],
  { limits, pageTokens }: Paging,
  errors: FieldErrors,
): KeysetStart | undefined {
  if (after === undefined && resource.paging === 'pages') return undefined
  const order = orderName(resource, ordering)
  const canTell = ordering.every(({ isShown }) => isShown)
  if (!after) return canTell ? { direction: 'after', place: undefined, skip: 0, order } : undefined
  const start = canTell ? pageTokens.read(after, order) : undefined
  if (start !== undefined && (start.place === undefined || start.place.length === ordering.length)) {
    if (start.skip + limit <= limits.depth) return { ...start, order }
    errors.add(
      'after',
      `leads more than ${limits.depth} records deep without a place to begin at; order by another field`,
    )
    return undefined
  }
  errors.add('after', wrongToken)
  return undefined
}

/** What is wrong with a token that the list has not given out, reading on from its parameter. */
export const wrongToken =
  'is no token of this list and its ordering; take it from "next" or "previous", or leave it empty'

/** The same list with tokens; as it is where there can be none. */
export function byKeyset(plan: ListPlan): ListPlan {
  const { resource, ordering } = plan
  if (!resource.optionalParameters.has('after') || !ordering.every(({ isShown }) => isShown)) return plan
  return { ...plan, start: { direction: 'after', place: undefined, skip: 0, order: orderName(resource, ordering) } }
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
export function planItem(resource: Resource, key: unknown, columns: SelectPlan['columns'] = 'row'): SelectPlan {
  return { resource, scope: scopeOfKey(resource), values: [[key]], columns, ordering: [], start: undefined }
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
  if (key.kind.inPath !== undefined && !key.kind.inPath.test(segment)) return undefined
  try {
    return key.kind.fromText(decodeURIComponent(segment))
  } catch (error) {
    if (error instanceof ValueError || error instanceof URIError) return undefined
    throw error
  }
}
