import { type FieldErrors, ValueError } from '../errors'
import type { Aggregation } from '../request/aggregation'
import type { Filter } from '../request/groups'
import type { Limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import { isNamed } from '../schema/property'
import type { FilterNames, ResourceView } from '../schema/resource-view'
import { decimalType, floatType } from '../value/number'
import { uuidType } from '../value/text'
import { isNumeric, type OperatorName, type ValueType } from '../value/value-type'
import { ConditionBuilder } from './condition-builder'
import { parseOperand } from './operand'
import { type ParsedPath, parseSuffixedName } from './path'
import { type FieldRef, type Query, whereVisible } from './query'
import { parseValues } from './values'

const fieldFunctions = ['sum', 'avg', 'min', 'max', 'count_distinct'] as const
const dateParts = ['year', 'quarter', 'month', 'week', 'day'] as const

/** Period to which dates are truncated. Weeks are those of ISO 8601: they begin on Monday. */
export type DatePart = (typeof dateParts)[number]

/** Function of the values of a field in a group. */
export interface FieldAggregate {
  readonly name: string
  readonly function: (typeof fieldFunctions)[number]
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
  const { joins, where } = builder.build(request.where, view.searchFields(), request.search.length)
  const groups = parseEach('by', aggregation.by, errors, (name) => parseGroupKey(builder, name))
  const aggregates = parseEach('aggregate', aggregation.functions, errors, (name) => parseAggregate(builder, name))
  const { comparisons: filters, wordComparisons: search } = builder
  return {
    view,
    joins,
    where: whereVisible(view, where),
    values: parseValues({ filters, search }, request, limits, errors),
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
  const path = parseSuffixedName(builder.view, name, builder.limits, fieldFunctions)
  requireAggregable(builder.view, path, name)
  const { suffix, field } = path
  if (suffix === undefined) {
    throw new ValueError(`names "${name}" without a function; functions: count, ${functionsOf(name)}`)
  }
  if (!acceptsFunction(suffix, field.valueType)) throw new ValueError(`cannot compute the ${suffix} of ${field.name}`)
  return { name, function: suffix, on: builder.fieldRef(path) }
}

const functionsOf = (name: string): string => fieldFunctions.map((suffix) => `${name}__${suffix}`).join(', ')

/** Whether a function can be computed of values of a type. */
function acceptsFunction(name: FieldAggregate['function'], valueType: ValueType): boolean {
  if (name === 'count_distinct') return hasDistinctValues(valueType)
  if (name === 'sum' || name === 'avg') return isNumeric(valueType)
  return isNumeric(valueType) || ['date', 'date-time', 'time'].includes(valueType.name)
}

/** Whether values that differ are shown differently. Date-times and times have fractions of seconds that are not shown. */
function hasDistinctValues({ name, operators, upperBound }: ValueType): boolean {
  return operators.includes('eq') && (upperBound === undefined || name === 'date')
}

/** @throws {ValueError} */
function parseGroupKey(builder: ConditionBuilder, name: string): GroupKey {
  const path = parseSuffixedName(builder.view, name, builder.limits, dateParts)
  requireAggregable(builder.view, path, name)
  const { suffix: part, field } = path
  const { valueType } = field
  const isDate = valueType.name === 'date' || valueType.name === 'date-time'
  if (part !== undefined && !isDate) throw new ValueError(`names "${name}", but ${field.name} is not a date`)
  if (part === undefined && !isGroupable(valueType)) {
    const advice = isDate ? `; use a date part: ${dateParts.map((part) => `${name}__${part}`).join(', ')}` : ''
    throw new ValueError(`cannot group by ${name}${advice}`)
  }
  return { name, function: undefined, on: builder.fieldRef(path), part }
}

/** Whether groups can be identified by whole values. Date-times have fractions of seconds that are not shown. */
function isGroupable(valueType: ValueType): boolean {
  return ['text', 'enum', 'boolean', 'integer', 'decimal', 'date'].includes(valueType.name) || valueType === uuidType
}

/** @throws {ValueError} for a field of which no values can be computed, and for one that the option does not permit */
function requireAggregable(view: FilterNames, path: ParsedPath<string>, name: string): void {
  const { aggregate = 'all' } = view as Partial<ResourceView>
  const { through, field } = path
  const property = through[0]?.relation.propertyPath ?? field.property
  if (aggregate !== 'all' && !isNamed(property, aggregate)) {
    const allowed = view.outputFields.filter((other) => isNamed(other.property, aggregate))
    throw new ValueError(`names "${name}", which cannot be aggregated; fields: ${allowed.map(toName).join(', ')}`)
  }
  const [column, ...others] = field.columns
  const isStored = column !== undefined && others.length === 0 && !column.column.isVirtualProperty
  const isPlain = column?.valueColumn.transformer === undefined && column?.column.entityMetadata.tableType !== 'view'
  // A load listener may change keys too, so no entity on the path may have one. The first entity is checked at mount.
  const hasListener = through.some((step) => step.target.lifecycle.load)
  if (isStored && isPlain && !hasListener) return
  throw new ValueError(`names "${name}", which cannot be aggregated: its values are computed or transformed`)
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
  const aggregate = aggregates.find((requested) => name === requested.name || name.startsWith(`${requested.name}__`))
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
