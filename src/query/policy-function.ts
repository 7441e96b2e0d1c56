import type { Principal } from '../access/rule'
import { FieldErrors, ValueError } from '../errors'
import type { Field } from '../schema/field'
import type { PolicyFunction } from '../schema/resource-view'
import { type ObjectFilter, type ParsedFilterObject, parseFilterObject } from './filter-object'
import { parseObjectOperand } from './operand'
import type { ChangeSet, Query } from './query'
import type { QueryShape } from './query-shape'

/** Result of a function of `scope` or `may`: a filter; true if every record matches, false if none does. */
export type FilterResult = ParsedFilterObject | boolean

/** What a record must match before and after a write. Only `may.update` can have two different filters. */
export interface FilterResults {
  readonly before: FilterResult
  readonly after: FilterResult
}

/**
 * Calls a function of a row scope or of `may`, and parses its result.
 * @throws {TypeError} for a result that is neither a filter nor a boolean: a mistake of the application
 */
export function callFilter(policy: PolicyFunction, principal: Principal): FilterResults {
  const result = call(policy, principal)
  const { title, states } = policy
  if (states.length === 2 && isPair(result)) {
    const { before = true, after = true } = result
    return { before: parseResult(`${title} (before)`, before), after: parseResult(`${title} (after)`, after) }
  }
  const parsed = parseResult(title, result)
  return { before: parsed, after: parsed }
}

/**
 * Calls the function of the option `preset`.
 * @returns the values by field
 * @throws {TypeError} for a result that is not an object of values: a mistake of the application
 */
export function callPreset(policy: PolicyFunction, principal: Principal): ChangeSet {
  const result = call(policy, principal)
  const { title, names } = policy
  if (typeof result !== 'object' || result === null || Array.isArray(result)) {
    throw new TypeError(`${title} must be an object of values`)
  }
  return new Map(
    Object.entries(result).map(([name, value]) => {
      const field = names.fields.get(name)
      if (field === undefined) {
        throw new TypeError(`${title} sets ${name}; fields: ${names.outputFields.map((one) => one.name).join(', ')}`)
      }
      return [field, presetValue(title, name, field, value)]
    }),
  )
}

function presetValue(title: string, name: string, field: Field, value: unknown): unknown {
  if (value === null) {
    if (!field.nullable) throw new TypeError(`${title} sets ${name} to null, which it cannot be`)
    return null
  }
  // The same check of the value as in a filter object: `undefined` is a mistake.
  const { filters } = withTitle(title, () => parseFilterObject({ [name]: value }))
  const [filter] = filters
  if (filter === undefined) throw new TypeError(`${title} sets ${name} to a list`)
  return parseValues(title, filter.name, () => parseObjectOperand(field, 'eq', filter))?.[0]
}

function call({ title, call: callPolicy }: PolicyFunction, principal: Principal): unknown {
  const result = callPolicy(principal)
  if (result instanceof Promise) {
    // Otherwise its rejection would end the process.
    result.catch(() => undefined)
    throw new TypeError(`${title} must not be async`)
  }
  return result
}

/** Whether a result is `{ before, after }`, with a filter for each, and not one filter object. */
function isPair(result: unknown): result is { readonly before?: unknown; readonly after?: unknown } {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return false
  const entries = Object.entries(result)
  return entries.length > 0 && entries.every(([name, value]) => isState(name) && isFilter(value))
}

const isState = (name: string): boolean => name === 'before' || name === 'after'

/** Whether a value may be a filter. Otherwise `before` is the name of a field, and this is its value. */
const isFilter = (value: unknown): boolean =>
  typeof value === 'boolean' || (typeof value === 'object' && value !== null && !(value instanceof Date))

function parseResult(title: string, result: unknown): FilterResult {
  return typeof result === 'boolean' ? result : withTitle(title, () => parseFilterObject(result))
}

/** Adds the title of the function to the message of an error. */
function withTitle<T>(title: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw cause instanceof TypeError ? new TypeError(`${title}: ${cause.message}`) : cause
  }
}

/**
 * Maximum number of values of a filter object. A statement contains the values of a row scope for each of its tables: the
 * number of tables has a maximum too (`maxJoins`), so that databases accept the statement.
 */
const maxValues = 1000

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

function parseValues<T>(title: string, name: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw error instanceof ValueError ? new TypeError(`${title}: ${name} ${error.message}`) : error
  }
}

/** @throws {TypeError} with all errors, for the developer of the application */
export function requireNoErrors(errors: FieldErrors, title: string): void {
  if (!errors.isEmpty) throw new TypeError(`${title}: ${errors.text}`)
}

/** Indexes of the filters that a record must match in any case: those outside of groups. An array of filters is a group. */
export function requiredFilters({ where }: ParsedFilterObject): readonly number[] {
  return where
    .flatMap((node) => (typeof node === 'object' && node.type === 'and' ? node.members : []))
    .filter((member) => typeof member === 'number')
}
