import { callForPrincipal } from '../access/call-function'
import type { Principal } from '../access/rule'
import { FieldErrors, type Report } from '../errors'
import type { FilterNames, PolicyFunction } from '../schema/resource-view'
import { ConditionBuilder } from './condition-builder'
import { type ObjectFilter, type ParsedFilterObject, parseFilterObject } from './filter-object'
import { parseObjectOperand } from './operand'
import { type Query, rootAlias } from './query'
import { noInclusion, type QueryShape } from './shape'

/** What `scope` or `may` permits for a principal: the records that match a filter, all (true) or none (false). */
export type PolicyFilter = ParsedFilterObject | boolean

/** The filters that a record must match before and after a write. Only those of `may.update` can differ. */
export interface FiltersByState {
  readonly before: PolicyFilter
  readonly after: PolicyFilter
}

/**
 * Calls the function in the option `scope` or `may`, and parses its result. If the option is a constant instead of a
 * function, it is parsed once.
 * @throws {TypeError} for a result that is neither a filter nor a boolean: a mistake of the application
 */
export function callPolicy(policy: PolicyFunction, principal: Principal): FiltersByState {
  const { title, option, call } = policy
  if (typeof option === 'function') return parseResults(policy, callForPrincipal(title, call, principal))
  const known = constants.get(policy) ?? parseResults(policy, option)
  constants.set(policy, known)
  return known
}

/** The parsed filters of policies that are constants. Only `may` can have constants. */
const constants = new WeakMap<PolicyFunction, FiltersByState>()

/**
 * Checks a policy that is a constant, at mount. Functions are not called.
 * @param report receives a mistake for each filter that has an unknown name, or a value that its field cannot have
 */
export function checkConstant({ title, option, names, states }: PolicyFunction, report: Report): void {
  if (typeof option === 'function') return
  const filters = isPair(option, states)
    ? Object.entries(option).map(([state, filter]) => [`${title} (${state})`, filter] as const)
    : [[title, option] as const]
  for (const [filterTitle, filter] of filters) {
    try {
      const parsed = parseResult(filterTitle, filter)
      if (typeof parsed === 'boolean') continue
      valuesOf(filterTitle, parsed.filters, buildShape(filterTitle, names, parsed, rootAlias, ''))
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      report(error.message)
    }
  }
}

function parseResults({ title, states }: PolicyFunction, result: unknown): FiltersByState {
  if (isPair(result, states)) {
    const { before = true, after = true } = result
    return { before: parseResult(`${title} (before)`, before), after: parseResult(`${title} (after)`, after) }
  }
  const parsed = parseResult(title, result)
  return { before: parsed, after: parsed }
}

/**
 * Whether a result is `{ before, after }`, with a filter for each, and not one filter object.
 * @param states the states in which the policy is checked: only a policy with both states can have two filters
 */
function isPair(
  result: unknown,
  states: PolicyFunction['states'],
): result is { readonly before?: unknown; readonly after?: unknown } {
  if (states.length < 2) return false
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return false
  const entries = Object.entries(result)
  return entries.length > 0 && entries.every(([name, value]) => isState(name) && isFilter(value))
}

const isState = (name: string): boolean => name === 'before' || name === 'after'

/** Whether a value can be a filter. If not, it is the value of a field that has the name `before` or `after`. */
const isFilter = (value: unknown): boolean =>
  typeof value === 'boolean' || (typeof value === 'object' && value !== null && !(value instanceof Date))

function parseResult(title: string, result: unknown): PolicyFilter {
  return typeof result === 'boolean' ? result : withTitle(title, () => parseFilterObject(result))
}

/** Runs `work`, and adds a title to the message of a `TypeError` that it throws. */
export function withTitle<T>(title: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw cause instanceof TypeError ? new TypeError(`${title}: ${cause.message}`) : cause
  }
}

/**
 * Maximum number of values of a filter object. Each table of a statement can have a row scope, and the statement then
 * contains the values of all of them. This maximum and that of tables (`maxJoins`) keep a statement within the limit that
 * databases have.
 */
const maxValues = 1000

/** Filters of the application may follow any number of relations. */
const noLimits = { joinDepth: Number.POSITIVE_INFINITY, joins: Number.POSITIVE_INFINITY }

/**
 * Builds the condition of a filter object on the table with an alias. It is a query shape, like those of requests, so that
 * both can be in one cache.
 * @param title text for messages, such as `the scope of task`
 * @throws {TypeError} for a name that no field has
 */
export function buildShape(
  title: string,
  names: FilterNames,
  { filters, where }: ParsedFilterObject,
  alias: string,
  cacheKey: string,
): QueryShape {
  const errors = new FieldErrors()
  const builder = new ConditionBuilder(names, filters, noLimits, errors, alias)
  const { where: condition } = builder.build(where)
  requireNoErrors(errors, title)
  const { comparisons } = builder
  const shape = { cacheKey, view: names, joins: [], where: condition, ordering: [], guardedViews: [] }
  return { ...shape, ...noInclusion, filters: comparisons, search: [], match: undefined }
}

/** Parses the values of a filter object. @throws {TypeError} for a value that its field cannot have, or too many values */
export function valuesOf(title: string, filters: readonly ObjectFilter[], shape: QueryShape): Query['values'] {
  const errors = new FieldErrors()
  const values: (readonly unknown[])[] = []
  let count = 0
  filters.forEach((filter, index) => {
    const comparison = shape.filters[index]
    if (comparison === undefined) throw new Error(`${title} has a filter without a comparison`)
    const { on, operator, valuesIndex } = comparison
    const parsed = errors.try(filter.name, () => parseObjectOperand(on.field, operator, filter)) ?? []
    values[valuesIndex] = parsed
    // A value of a key of several columns is compared column by column.
    count += parsed.length * on.field.columns.length
  })
  requireNoErrors(errors, title)
  if (count > maxValues) {
    throw new TypeError(`${title}: its filters have ${count} values; at most ${maxValues} are allowed`)
  }
  return values
}

/** @throws {TypeError} with all errors, for the developer of the application */
function requireNoErrors(errors: FieldErrors, title: string): void {
  if (!errors.isEmpty) throw new TypeError(`${title}: ${errors.text}`)
}

/** Indexes of the filters of a filter object that are not in a group. An array of filter objects is a group. */
export function requiredFilters({ where }: ParsedFilterObject): readonly number[] {
  return where
    .flatMap((node) => (typeof node === 'object' && node.type === 'and' ? node.members : []))
    .filter((member) => typeof member === 'number')
}
