import type { FieldErrors } from '../errors'
import type { IncludeRequest } from '../request/include'
import type { Limits } from '../request/limits'
import type { IncludedList, Inclusion, ListQuery } from './query'
import type { InclusionShape, ListShape } from './shape'
import type { ValueBudget } from './value-budget'
import { parseValues } from './values'

/** Number of related records of a list without `limit`. */
const defaultLimit = 100

/**
 * Parses the values of includes.
 * @param requests the includes from which the shape was built
 * @param errors receives every invalid value
 */
export function parseInclusion(
  { records, lists, resources }: InclusionShape,
  requests: readonly IncludeRequest[],
  limits: Limits,
  budget: ValueBudget,
  errors: FieldErrors,
): Inclusion {
  const partOf = ({ index }: { readonly index: number }) => {
    const request = requests[index]
    if (request === undefined) throw new Error('a shape belongs to the names that it was built from')
    return { request, inner: errors.within(`include.${request.name}`) }
  }
  return {
    records: records.map((record) => {
      const { request, inner } = partOf(record)
      return { ...record, inclusion: parseInclusion(record.inclusion, request.includes, limits, budget, inner) }
    }),
    lists: lists.map((list) => {
      const { request, inner } = partOf(list)
      return parseList(list, request, limits, budget, inner)
    }),
    resources,
  }
}

function parseList(
  list: ListShape,
  request: IncludeRequest,
  limits: Limits,
  budget: ValueBudget,
  errors: FieldErrors,
): IncludedList {
  const { shape, view } = list
  const isCounted = request.count !== undefined
  if (isCounted && request.count !== 'exact') errors.add('count', 'must be exact')
  const limit = parseLimit(request.limit, isCounted ? 0 : 1, limits, errors)
  const inclusion =
    request.includes.length === 0
      ? undefined
      : parseInclusion(shape.inclusion, request.includes, limits, budget, errors)
  const query: ListQuery = {
    view,
    joins: shape.joins,
    where: shape.where,
    values: parseValues(shape, request, limits, errors, budget),
    select: 'columns',
    ordering: shape.ordering,
    included: shape.includedRecords,
    inclusion,
    cursor: undefined,
    guardedViews: shape.guardedViews,
    cacheKey: shape.cacheKey,
    limit: limit + 1,
    offset: 0,
  }
  return { ...list, query, limit, isCounted, repeated: request.repeated }
}

function parseLimit(text: string | undefined, min: number, limits: Limits, errors: FieldErrors): number {
  const max = Math.min(limits.page.max, limits.included)
  if (text === undefined) return Math.min(defaultLimit, max)
  const limit = /^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN
  if (limit >= min && limit <= max) return limit
  errors.add('limit', `must be an integer from ${min} to ${max}`)
  return max
}
