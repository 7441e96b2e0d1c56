import { type FieldErrors, ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import type { PageTokens } from '../request/page-token'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import { planValues } from './filters'
import { outlineOf } from './outline'
import { type KeysetStart, type ListPlan, type Order, type Question, rootAlias, type SelectPlan } from './plan'

/**
 * Resolves the names and values of a list request. One row more than the page is asked for, to know of a next one (D21). A page
 * before a place is asked for backwards.
 * @param errors receives every name and value that cannot be answered
 */
export function planList(
  resource: Resource,
  request: ListRequest,
  { limits, pageTokens }: Paging,
  errors: FieldErrors,
): ListPlan {
  const outline = outlineOf(resource, request, limits, errors)
  const { names, question, ordering } = outline
  const start = planStart(resource, request, ordering, pageTokens, errors)
  return {
    resource,
    question,
    values: planValues(outline, request.filters, limits, errors),
    columns: 'row',
    names,
    ordering: start?.direction === 'before' ? ordering.map(reversed) : ordering,
    start,
    limit: request.limit + 1,
    offset: request.after ? 0 : (request.page - 1) * request.limit,
  }
}

/** How much may be asked for, and how a page says where it begins. */
export interface Paging {
  readonly limits: Limits
  readonly pageTokens: PageTokens
}

function planStart(
  resource: Resource,
  { after }: ListRequest,
  ordering: readonly Order[],
  pageTokens: PageTokens,
  errors: FieldErrors,
): KeysetStart | undefined {
  if (after === undefined && resource.paging === 'pages') return undefined
  const order = orderName(resource, ordering)
  const canTell = canTellPlaces(resource, ordering)
  if (!after) return canTell ? { direction: 'after', place: undefined, order } : undefined
  const start = canTell ? pageTokens.read(after, order) : undefined
  if (start !== undefined && (start.place === undefined || start.place.length === ordering.length)) {
    return { ...start, order }
  }
  const message = 'is no token of this list and its ordering; take it from "next" or "previous", or leave it empty'
  errors.add('after', message)
  return undefined
}

/** What tokens of a list are about: a place in one order of one resource. */
function orderName({ name }: Resource, ordering: readonly Order[]): string {
  const keys = ordering.map(({ column, descending }) => `${descending ? '-' : ''}${column.column.propertyPath}`)
  return [name, ...keys].join(' ')
}

/** A token tells what is stored, which a transformer or a listener may show otherwise, as all but its last digits. */
function canTellPlaces({ lifecycle }: Resource, ordering: readonly Order[]): boolean {
  return !lifecycle.load && ordering.every(({ column }) => column.valueColumn.transformer === undefined)
}

function reversed({ column, descending }: Order): Order {
  return { column, descending: !descending }
}

/** The record of this key. */
export function planItem(resource: Resource, key: unknown, columns: SelectPlan['columns'] = 'row'): SelectPlan {
  return { resource, question: questionOfKey(resource), values: [[key]], columns, ordering: [], start: undefined }
}

const questionOfKey = memoize(({ key: field }: Resource): Question => {
  const comparison = { on: { alias: rootAlias, field }, operator: 'eq', slot: 0 } as const
  return { joins: [], exists: [], comparisons: [comparison] }
})

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
