import { keyParts, type Row, type Rows, type Value } from './rows'
import {
  fieldsOf,
  keys,
  keyType,
  type ResourceName,
  relations,
  searchPaths,
  type ValueType,
  valueFields,
} from './schema'

/**
 * Computes the response to a list from all rows, by the rules in the documentation (docs/reference/queries.md, relations.md), without any
 * code of `src`.
 */

/** A filter of a list. */
export interface Filter {
  /** Relations to follow, and a field: `['tags', 'word']`. */
  readonly path: readonly string[]
  readonly operator: string
  /** Members of a list, or a single value. */
  readonly values: readonly Value[]
  /** Whether the operator is part of the name, which is optional for `eq`. */
  readonly explicit: boolean
}

/** A sort key of a list. */
export interface Order {
  /** To-one relations to follow, and a field. */
  readonly path: readonly string[]
  readonly descending: boolean
  /** Undefined: nulls are less than all values. */
  readonly nulls: 'first' | 'last' | undefined
}

/** Filters that are combined by a parameter: `or=(…)`. */
export interface Group {
  readonly type: 'or' | 'and' | 'not'
  readonly members: readonly (Filter | Group)[]
}

export const isGroup = (node: Filter | Group): node is Group => 'members' in node

/** The conditions and the order of a list. */
export interface ListQuery {
  readonly resource: ResourceName
  readonly filters: readonly Filter[]
  readonly groups: readonly Group[]
  /** Words of the parameter `search`. */
  readonly words: readonly string[]
  readonly ordering: readonly Order[]
}

const nameOf = ({ path, operator, explicit }: Filter): string => [...path, ...(explicit ? [operator] : [])].join('__')

/** Filters with the same name: one of their values must match, or all of them, depending on the operator. */
interface Comparison {
  readonly field: string
  readonly type: ValueType
  readonly operator: string
  readonly values: readonly Value[]
}

/**
 * Conditions for one record and for the records that its relations lead to. Of each relation, one record must meet all of its conditions.
 */
interface Condition {
  readonly resource: ResourceName
  readonly comparisons: Comparison[]
  readonly related: Map<string, Condition>
}

/** Groups filters outside of groups by their names. */
function sameOf(filters: readonly Filter[]): readonly (readonly Filter[])[] {
  return [...new Set(filters.map(nameOf))].map((name) => filters.filter((filter) => nameOf(filter) === name))
}

/** Makes a condition of filters. @param comparisons filters that are compared together */
function conditionOf(resource: ResourceName, comparisons: readonly (readonly Filter[])[]): Condition {
  const root: Condition = { resource, comparisons: [], related: new Map() }
  for (const same of comparisons) {
    const [{ path, operator } = { path: [], operator: '' }] = same
    let at = root
    for (const relation of path.slice(0, -1)) {
      const name = relation.replace(/_id$/, '')
      const target = relations[at.resource][name]?.target
      if (target === undefined) throw new Error(`${at.resource} has no relation ${relation}`)
      const next = at.related.get(name) ?? { resource: target, comparisons: [], related: new Map() }
      at.related.set(name, next)
      at = next
    }
    const field = path.at(-1) ?? ''
    const type = fieldsOf(at.resource)[field]
    if (type === undefined) throw new Error(`${at.resource} has no field ${field}`)
    at.comparisons.push({
      field: field.replace(/_id$/, ''),
      type,
      operator,
      values: same.flatMap(({ values }) => values),
    })
  }
  return root
}

/** Whether a condition holds. All values at the end of a path are null if the path leads to no record. */
function holds(rows: Rows, row: Row | null, { resource, comparisons, related }: Condition): boolean {
  return (
    comparisons.every((comparison) => compares(row?.values[comparison.field] ?? null, comparison)) &&
    [...related].every(([name, question]) =>
      relatives(rows, resource, row, name).some((relative) => holds(rows, relative, question)),
    )
  )
}

/** Whether all of these filters and groups hold; the filters must hold for the same related records. */
function holdsAll(rows: Rows, row: Row, resource: ResourceName, nodes: readonly (Filter | Group)[]): boolean {
  const filters = nodes.flatMap((node) => (isGroup(node) ? [] : [[node]]))
  return (
    holds(rows, row, conditionOf(resource, filters)) &&
    nodes.filter(isGroup).every((group) => holdsGroup(rows, row, resource, group))
  )
}

function holdsGroup(rows: Rows, row: Row, resource: ResourceName, { type, members }: Group): boolean {
  if (type === 'or') return members.some((member) => holdsAll(rows, row, resource, [member]))
  return holdsAll(rows, row, resource, members) === (type === 'and')
}

/** The records at the end of a relation; null for a foreign key that refers to no record. */
function relatives(rows: Rows, resource: ResourceName, row: Row | null, name: string): readonly (Row | null)[] {
  const relation = relations[resource][name]
  if (relation === undefined) throw new Error(`${resource} has no relation ${name}`)
  const ids = relation.many ? (row?.many[name] ?? []) : [row?.values[name] ?? null]
  const found = rows[relation.target].filter(({ id }) => ids.includes(id))
  return found.length === 0 ? [null] : found
}

const second = 1000
const millisecondsOf = (value: Value): number => Date.parse(`${String(value).replace(' ', 'T')}Z`)

/** Compares two values: less than 0, 0, or more. */
export function order(type: ValueType, one: Value, other: Value): number {
  if (typeof type === 'object') return orderKeys(type.key, one, other)
  const rank = (value: Value): bigint | number | string => {
    if (type === 'integer') return BigInt(String(value))
    if (type === 'decimal') return Number(value)
    if (type === 'instant') return millisecondsOf(value)
    return type === 'boolean' ? Number(value) : String(value)
  }
  const [first, last] = [rank(one), rank(other)]
  return first < last ? -1 : first > last ? 1 : 0
}

function orderKeys(resource: ResourceName, one: Value, other: Value): number {
  const [first, last] = [keyParts(resource, one), keyParts(resource, other)]
  const differences = Object.entries(keys[resource]).map(([part, type]) =>
    order(type, first[part] ?? null, last[part] ?? null),
  )
  return differences.find((difference) => difference !== 0) ?? 0
}

function compares(stored: Value, { type, operator, values }: Comparison): boolean {
  if (operator === 'is') return values.some((value) => isState(stored, value))
  if (stored === null) return false
  const test = (value: Value): boolean => comparesOne(type, operator, stored, value)
  return ['eq', 'in', 'like', 'ilike'].includes(operator) ? values.some(test) : values.every(test)
}

function isState(stored: Value, value: Value): boolean {
  if (value === 'null' || value === 'none') return stored === null
  if (value === 'not_null') return stored !== null
  return stored === (value === 'true')
}

/** Compares a stored value with a value of a filter. */
export function comparesOne(type: ValueType, operator: string, stored: Value, value: Value): boolean {
  if (operator === 'like' || operator === 'ilike') return patternOf(String(value), operator).test(String(stored))
  // A date-time is compared to the second, as it is shown, unless the value has a fraction.
  const isShort = type === 'instant' && millisecondsOf(value) % second === 0
  const shown = isShort ? truncated(stored) : stored
  const difference = order(type, shown, value)
  const results: Readonly<Record<string, boolean>> = {
    eq: difference === 0,
    in: difference === 0,
    ne: difference !== 0,
    lt: difference < 0,
    lte: difference <= 0,
    gt: difference > 0,
    gte: difference >= 0,
  }
  const result = results[operator]
  if (result === undefined) throw new Error(`${operator} is no operator of the model`)
  return result
}

/** A date-time without its fraction. */
const truncated = (value: Value): string => `${String(value).slice(0, 19)}.000`

/** Converts a pattern: `%` is any text, `_` one character, and `\` escapes the next character. */
function patternOf(pattern: string, operator: 'like' | 'ilike'): RegExp {
  const source = [...pattern.matchAll(/\\(.)|(.)/gsu)].map(([, escaped, plain]) => {
    if (plain === '%') return '.*'
    return plain === '_' ? '.' : (escaped ?? plain ?? '').replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  })
  return new RegExp(`^${source.join('')}$`, operator === 'ilike' ? 'isu' : 'su')
}

/** All records of a list, in its order. Nulls are less than all values, and the key is the last sort key. */
export function matches(rows: Rows, query: ListQuery): readonly Row[] {
  const { resource, groups, words } = query
  const question = conditionOf(resource, sameOf(query.filters))
  const orders: readonly Order[] = [...query.ordering, { path: ['id'], descending: false, nulls: undefined }]
  return rows[resource]
    .filter((row) => holds(rows, row, question) && groups.every((group) => holdsGroup(rows, row, resource, group)))
    .filter((row) => words.every((word) => containsWord(rows, resource, row, word)))
    .toSorted((one, other) => {
      for (const by of orders) {
        const difference = orderBy(rows, resource, by, one, other)
        if (difference !== 0) return difference
      }
      return 0
    })
}

/** Whether a word occurs in any of the texts that a search compares. */
function containsWord(rows: Rows, resource: ResourceName, row: Row, word: string): boolean {
  return searchPaths[resource].some((path) => {
    const { value } = valueAt(rows, resource, path, row)
    return value !== null && String(value).toLowerCase().includes(word.toLowerCase())
  })
}

function orderBy(rows: Rows, resource: ResourceName, { path, descending, nulls }: Order, one: Row, other: Row): number {
  const [first, last] = [valueAt(rows, resource, path, one), valueAt(rows, resource, path, other)]
  const areNullsLast = nulls === undefined ? descending : nulls === 'last'
  if (first.value === null || last.value === null) {
    const difference = Number(first.value !== null) - Number(last.value !== null)
    return areNullsLast ? -difference : difference
  }
  const difference = order(first.type, first.value, last.value)
  return descending ? -difference : difference
}

/** The value at the end of to-one relations, and its type. */
export function valueAt(
  rows: Rows,
  resource: ResourceName,
  path: readonly string[],
  row: Row | null,
): { readonly value: Value; readonly type: ValueType } {
  const [name = '', ...others] = path
  const short = name.replace(/_id$/, '')
  if (others.length === 0)
    return { value: row?.values[short] ?? null, type: fieldsOf(resource)[name] ?? keyType(resource) }
  const target = relations[resource][short]?.target ?? resource
  const id = row?.values[short] ?? null
  return valueAt(rows, target, others, rows[target].find((one) => one.id === id) ?? null)
}

/** A sort key as in the parameter `ordering`. */
export function sortKeyOf({ path, descending, nulls }: Order): string {
  return `${descending ? '-' : ''}${path.join('__')}${nulls === undefined ? '' : `__nulls${nulls}`}`
}

/** The record of a row as JSON. */
export function recordOf(resource: ResourceName, { id, values }: Row): Readonly<Record<string, Value>> {
  const references = Object.entries(relations[resource]).filter(([, { many }]) => !many)
  const shown = Object.entries(valueFields).map(([field, type]): [string, Value] => {
    const value = values[field] ?? null
    return [field, type === 'instant' && value !== null ? String(value).slice(0, 19) : value]
  })
  return {
    id,
    ...keyParts(resource, id),
    ...Object.fromEntries(shown),
    ...Object.fromEntries(references.map(([name]) => [`${name}_id`, values[name] ?? null])),
  }
}

const quoted = (value: Value): string =>
  /[,"()]/.test(String(value)) || value === '' ? `"${String(value).replaceAll('"', '""')}"` : String(value)

/** A filter as a parameter of a query string. */
export function parameterOf(filter: Filter): string {
  const { operator, values } = filter
  const text = operator === 'in' ? values.map(quoted).join() : String(values[0])
  return `${encodeURIComponent(nameOf(filter))}=${encodeURIComponent(text)}`
}

/** A group as a parameter of a query string. */
export function groupParameterOf({ type, members }: Group): string {
  return `${type}=${encodeURIComponent(membersOf(members))}`
}

/** A group inside of parentheses. */
export const groupMemberOf = ({ type, members }: Group): string => `${type}${membersOf(members)}`

function membersOf(members: Group['members']): string {
  return `(${members.map((member) => (isGroup(member) ? groupMemberOf(member) : memberOf(member))).join()})`
}

/** A filter inside of parentheses. */
export function memberOf(filter: Filter): string {
  const { operator, values } = filter
  if (operator === 'in' && values.length > 1) return `${nameOf(filter)}:(${values.map(quoted).join()})`
  const text = operator === 'in' ? values.map(quoted).join() : String(values[0])
  return `${nameOf(filter)}:${/[,"()]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text}`
}

/** The parameter `search`, if there are words. */
export function searchParameterOf(words: readonly string[]): readonly string[] {
  return words.length === 0 ? [] : [`search=${words.map(encodeURIComponent).join('+')}`]
}

/** Moves the first items to the end. */
export function rotate<T>(items: readonly T[], count: number): readonly T[] {
  const by = items.length === 0 ? 0 : count % items.length
  return [...items.slice(by), ...items.slice(0, by)]
}
