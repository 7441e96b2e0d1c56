import { type FieldErrors, ValueError } from '../errors'
import type { Aggregation } from '../request/aggregation'
import type { Filter } from '../request/groups'
import type { Limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import type { FilterNames, ResourceView } from '../schema/resource-view'
import { decimalType, floatType } from '../value/number'
import type { OperatorName } from '../value/value-type'
import { type DatePart, type FieldFunction, parseFunction, parseKey } from './aggregable'
import { ConditionBuilder, searchOf } from './condition-builder'
import { parseOperand } from './operand'
import { type FieldRef, type Query, whereDeleted, whereVisible } from './query'
import { parseValues } from './values'

/** Function of the values of a field in a group. */
export interface FieldAggregate {
  readonly name: string
  readonly function: FieldFunction
  readonly on: FieldRef
}

/** Function that is computed for each group, and its name in the request. */
export type Aggregate = FieldAggregate | { readonly name: 'count'; readonly function: 'count' }

/** Field, or date part of a field, whose values identify a group. */
export interface GroupKey {
  readonly function: undefined
  readonly name: string
  readonly on: FieldRef
  /** Undefined for the value itself. */
  readonly part: DatePart | undefined
}

/** Comparison of an aggregate with a value. */
export interface HavingComparison {
  readonly aggregate: Aggregate
  readonly operator: OperatorName
  readonly values: readonly unknown[]
}

/** Sort key of groups. Nulls sort as the lowest values. */
export interface GroupOrder {
  readonly by: Aggregate | GroupKey
  readonly descending: boolean
}

/** Query for a page of groups. */
export interface AggregateQuery extends Query {
  readonly guardedViews: readonly FilterNames[]
  readonly groups: readonly GroupKey[]
  readonly aggregates: readonly Aggregate[]
  readonly having: readonly HavingComparison[]
  readonly groupOrdering: readonly GroupOrder[]
  /** Key of cached SQL: the names of the request. */
  readonly cacheKey: string
  readonly limit: number
  readonly offset: number
}

/**
 * Builds the query of a list of groups. It reads one group more than the page has, to find out whether there is a next
 * page.
 * @param errors receives every invalid name and value
 */
export function parseAggregateQuery(
  view: ResourceView,
  request: ListRequest,
  aggregation: Aggregation,
  limits: Limits,
  errors: FieldErrors,
): AggregateQuery {
  const names = request.filters.map(({ name }) => ({ name }))
  const builder = new ConditionBuilder(view, names, limits, errors)
  const { joins, where: matching } = builder.build(request.where, searchOf(view), request.search.length)
  const groups = parseEach('by', aggregation.by, errors, (name) => parseGroupKey(builder, name))
  const aggregates = parseEach('aggregate', aggregation.functions, errors, (name) => parseAggregate(builder, name))
  const where = whereVisible(view, matching)
  const { deleted } = request
  const { comparisons: filters, wordComparisons: search, match } = builder
  return {
    view,
    joins,
    where: deleted === undefined ? where : whereDeleted(view, deleted, where),
    readsDeleted: deleted !== undefined,
    values: parseValues({ filters, search, match }, request, limits, errors),
    select: 'key',
    ordering: [],
    cursor: undefined,
    guardedViews: [...builder.guardedViews],
    included: [],
    groups,
    aggregates,
    having: aggregation.having.flatMap((filter) => parseHaving(aggregates, filter, limits, errors) ?? []),
    groupOrdering: parseGroupOrdering(request.ordering, groups, aggregates, errors),
    cacheKey: JSON.stringify([
      ...[view.cacheKey, request.cacheKey, aggregation.functions, aggregation.by, request.ordering],
    ]),
    limit: request.limit + 1,
    offset: (request.page - 1) * request.limit,
  }
}

function parseEach<T>(
  parameter: string,
  names: readonly string[],
  errors: FieldErrors,
  parse: (name: string) => T,
): readonly T[] {
  return names.flatMap((name) => (errors.isFull ? [] : (errors.try(parameter, () => parse(name)) ?? [])))
}

/** @throws {ValueError} */
function parseAggregate(builder: ConditionBuilder, name: string): Aggregate {
  if (name === 'count') return { name, function: 'count' }
  const path = parseFunction(builder.view, name, builder.limits)
  return { name, function: path.suffix, on: builder.fieldRef(path) }
}

/** @throws {ValueError} */
function parseGroupKey(builder: ConditionBuilder, name: string): GroupKey {
  const path = parseKey(builder.view, name, builder.limits)
  return { name, function: undefined, on: builder.fieldRef(path), part: path.suffix }
}

const toName = ({ name }: { readonly name: string }): string => name

/** Value type of exact sums in filters on groups. */
const sumType = decimalType({ whole: 30, fraction: 20, significant: 45 })
const comparisonOperators: readonly OperatorName[] = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte']

/** Whether the result is an integer. */
export function isInteger(aggregate: Aggregate): boolean {
  if (aggregate.function === 'sum') return aggregate.on.field.valueType.name === 'integer'
  return aggregate.function === 'count' || aggregate.function === 'count_distinct'
}

/** Whether the result is a number of double precision. */
export function isFloat(aggregate: Aggregate): boolean {
  if (aggregate.function === 'avg') return true
  return aggregate.function === 'sum' && aggregate.on.field.valueType.name === 'float'
}

function parseHaving(
  aggregates: readonly Aggregate[],
  { name, value }: Filter,
  limits: Limits,
  errors: FieldErrors,
): HavingComparison | undefined {
  // The longest name: with `count` and `count__sum`, the filter `count__sum__gt` is one on the sum.
  const [aggregate] = aggregates
    .filter((requested) => name === requested.name || name.startsWith(`${requested.name}__`))
    .toSorted((one, other) => other.name.length - one.name.length)
  if (aggregate === undefined) return undefined
  return errors.try(name, () => {
    const suffix = name === aggregate.name ? 'eq' : name.slice(aggregate.name.length + 2)
    const operator = comparisonOperators.find((known) => known === suffix)
    if (operator === undefined) {
      throw new ValueError(`has the unknown operator "${suffix}"; operators: ${comparisonOperators.join(', ')}`)
    }
    if (aggregate.function === 'min' || aggregate.function === 'max') {
      return { aggregate, operator, values: parseOperand(aggregate.on.field, operator, value, limits) }
    }
    const valueType = isFloat(aggregate) ? floatType : sumType
    return { aggregate, operator, values: [valueType.fromText(value)] }
  })
}

/** Resolves the names in `ordering` and appends the group keys, so that the order is total. */
function parseGroupOrdering(
  names: readonly string[],
  groups: readonly GroupKey[],
  aggregates: readonly Aggregate[],
  errors: FieldErrors,
): readonly GroupOrder[] {
  const members = [...aggregates, ...groups]
  const requested = parseEach('ordering', names, errors, (text) => {
    const name = text.replace(/^-/, '')
    const by = members.find((member) => member.name === name)
    if (by === undefined) {
      throw new ValueError(`names "${name}", which is not in aggregate or by; names: ${members.map(toName).join(', ')}`)
    }
    return { by, descending: text !== name }
  })
  const isRequested = (group: GroupKey): boolean => requested.some(({ by }) => by === group)
  return [...requested, ...groups.filter((group) => !isRequested(group)).map((by) => ({ by, descending: false }))]
}
