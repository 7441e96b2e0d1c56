import type { FilterScalar } from '../filter-types'
import { type FilterGroup, type FilterNode, isGroupName } from '../request/groups'

/** Filter of a filter object: a name, and a value or the members of a list. */
export interface ObjectFilter {
  readonly name: string
  readonly operand: Scalar | readonly Scalar[]
}

/** Value of a filter object. It means the same as its text in a query string. */
export type Scalar = NonNullable<FilterScalar>

/** Parsed filter object. */
export interface ParsedFilterObject {
  readonly filters: readonly ObjectFilter[]
  readonly where: readonly FilterNode[]
  /** Names of the filters and groups without values. Objects with the same key have the same conditions. */
  readonly key: string
}

/**
 * Parses a filter object of the application (specification: Filter objects): the same filters and groups as in a query
 * string. An array of filters means that one of them must match.
 * @throws {TypeError} for anything that could match more records than intended: `undefined` as a value, an empty object,
 * or null within `not`
 */
export function parseFilterObject(filter: unknown): ParsedFilterObject {
  const filters: ObjectFilter[] = []
  const group = Array.isArray(filter) ? groupOf('or', filter, filters) : conjunctionOf(filter, filters, false)
  if (filters.length > maxFilters)
    throw new TypeError(`it has ${filters.length} filters; at most ${maxFilters} are allowed`)
  return { filters, where: [group], key: JSON.stringify(toKey(group, filters)) }
}

/** Maximum number of filters in a filter object. A statement contains them once for each of its tables. */
const maxFilters = 500

/** The names of the filters in a node and its groups. */
function toKey(node: FilterNode, filters: readonly ObjectFilter[]): unknown {
  if (typeof node === 'number') return filters[node]?.name
  return [node.type, node.members.map((member) => toKey(member, filters))]
}

/** A group that matches no record. */
const nothing: FilterGroup = { type: 'or', members: [] }

/** @param isNegated whether the filters are inside a `not`, where null would match records */
function conjunctionOf(filter: unknown, filters: ObjectFilter[], isNegated: boolean): FilterGroup {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    throw new TypeError(`a filter must be an object, not ${describe(filter)}`)
  }
  requirePlain(filter)
  const entries = Object.entries(filter)
  if (entries.length === 0) throw new TypeError('a filter must not be empty; to match all records, use true')
  return { type: 'and', members: entries.map(([name, value]) => memberOf(name, value, filters, isNegated)) }
}

function memberOf(name: string, value: unknown, filters: ObjectFilter[], isNegated: boolean): FilterNode {
  if (isGroupName(name)) return groupOf(name, value, filters, isNegated)
  if (value === undefined) {
    const properties = 'a principal has the properties that @UserAccount({ principal }) or the access rule gives it'
    throw new TypeError(`the value of ${name} is undefined; leave ${name} out, or use null; ${properties}`)
  }
  if (value === null) {
    // In SQL, neither a comparison with null nor its negation is true. The negation of `nothing` would match all records.
    if (isNegated) throw new TypeError(`the value of ${name} is null within "not", which would match records`)
    return nothing
  }
  if (!Array.isArray(value)) return filters.push({ name, operand: requireScalar(name, value) }) - 1
  if (value.length === 0) return nothing
  // `Array.from` turns holes into `undefined`, which is refused.
  const members = Array.from(value)
    .filter((member) => member !== null)
    .map((member) => requireScalar(name, member))
  if (members.length < value.length && isNegated) throw new TypeError(`the list of ${name} has null within "not"`)
  return members.length === 0 ? nothing : filters.push({ name, operand: members }) - 1
}

function groupOf(type: FilterGroup['type'], value: unknown, filters: ObjectFilter[], isNegated = false): FilterGroup {
  if (type === 'not') return { type, members: conjunctionOf(value, filters, true).members }
  if (!Array.isArray(value)) throw new TypeError(`the value of "${type}" must be an array of filters`)
  if (type === 'and' && value.length === 0) throw new TypeError('"and" must not be empty')
  return { type, members: Array.from(value, (member) => conjunctionOf(member, filters, isNegated)) }
}

function requireScalar(name: string, value: unknown): Scalar {
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new TypeError(`the Date of ${name} is invalid`)
  if (value instanceof Date || ['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return value as Scalar
  throw new TypeError(
    `the value of ${name} must be a string, a number, a boolean, a Date or null, not ${describe(value)}`,
  )
}

/** Requires that all properties of an object are filters: others would be ignored, and the filter would match more. */
function requirePlain(filter: object): void {
  const prototype: unknown = Object.getPrototypeOf(filter)
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  if (!isPlain || Reflect.ownKeys(filter).length > Object.keys(filter).length) {
    throw new TypeError('a filter must be a plain object, without inherited, hidden or symbol properties')
  }
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  return value === null ? 'null' : typeof value
}
