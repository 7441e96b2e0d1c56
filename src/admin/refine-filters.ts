import { fieldNameOf, type Values } from './collection.ts'
import { containing, escapePattern } from './pattern.ts'
import type { Filter } from './refine-types.ts'

/** Converts the value of a Refine filter into the value of a filter of the service. */
type Operand = (value: unknown) => unknown
const unchanged: Operand = (value) => value
const startPattern: Operand = (value) => `${escapePattern(String(value))}%`
const endPattern: Operand = (value) => `%${escapePattern(String(value))}`
const containsPattern: Operand = (value) => containing(String(value))

/**
 * Refine's operators, each with the filters of the service that it becomes: the operator, and how its value is converted.
 * All filters of an operator must match.
 */
const operators: Readonly<Record<string, readonly (readonly [operator: string, operand: Operand])[]>> = {
  eq: [['eq', unchanged]],
  eqs: [['eq', unchanged]],
  ne: [['ne', unchanged]],
  nes: [['ne', unchanged]],
  lt: [['lt', unchanged]],
  lte: [['lte', unchanged]],
  gt: [['gt', unchanged]],
  gte: [['gte', unchanged]],
  in: [['in', unchanged]],
  between: [
    ['gte', (range) => (range as readonly unknown[])[0]],
    ['lte', (range) => (range as readonly unknown[])[1]],
  ],
  null: [['is', () => 'null']],
  nnull: [['is', () => 'not_null']],
  contains: [['ilike', containsPattern]],
  containss: [['like', containsPattern]],
  startswith: [['ilike', startPattern]],
  startswiths: [['like', startPattern]],
  endswith: [['ilike', endPattern]],
  endswiths: [['like', endPattern]],
}

/**
 * Refine's negated operators, each with the operator that it negates. They are sent as `not`, so records with null match
 * too.
 */
const negatedOperators: Readonly<Record<string, string>> = {
  nin: 'in',
  ncontains: 'contains',
  ncontainss: 'containss',
  nbetween: 'between',
  nstartswith: 'startswith',
  nstartswiths: 'startswiths',
  nendswith: 'endswith',
  nendswiths: 'endswiths',
}

/** The operators for a comparison with null. The service would compare with the text "null". */
const nullOperators: Readonly<Record<string, string>> = { eq: 'null', eqs: 'null', ne: 'nnull', nes: 'nnull' }

const acceptsNull = (operator: string): boolean =>
  operator in nullOperators || Object.values(nullOperators).includes(operator)

/** Filters as the client expects them: by name and operator, such as `score__gte`, or `or` and `not` with groups. */
interface Group {
  readonly [name: string]: unknown
  readonly and?: readonly Group[]
}

/**
 * Converts filters of Refine into those of the client. All of them must match.
 * @throws {Error} for an operator that the service does not support
 */
export function filtersOf(filters: readonly Filter[]): Values {
  return mergeGroups(filters.flatMap(groupsOf))
}

/**
 * Merges groups that must all match into one group. An object has each name once: a group with a name that the merged group
 * already has becomes a member of the merged group's `and`.
 */
function mergeGroups(groups: readonly Group[]): Group {
  const merged: Record<string, unknown> = {}
  const and: Group[] = []
  for (const group of groups) {
    const isTaken = Object.keys(group).some((name) => Object.hasOwn(merged, name))
    if (isTaken) and.push(group)
    else Object.assign(merged, group)
  }
  return and.length === 0 ? merged : { ...merged, and }
}

function groupsOf({ operator, field = '', value }: Filter): readonly Group[] {
  if (operator === 'and') return (value as readonly Filter[]).flatMap(groupsOf)
  if (operator === 'or') {
    const members = (value as readonly Filter[]).map((filter) => filtersOf([filter]))
    const filled = members.filter((member) => Object.keys(member).length > 0)
    return filled.length === 0 ? [] : [{ or: filled }]
  }
  // Refine's tables have filters with the value undefined or null for inputs that are empty. A range has two inputs.
  if (value === undefined || (value === null && !acceptsNull(operator))) return []
  const negated = negatedOperators[operator]
  if (negated !== undefined) {
    const not = filtersOf([{ operator: negated, field, value }])
    return Object.keys(not).length === 0 ? [] : [{ not }]
  }
  const comparisons = operators[(value === null && nullOperators[operator]) || operator]
  if (comparisons === undefined) {
    const supported = ['and', 'or', ...Object.keys(operators), ...Object.keys(negatedOperators)].join(', ')
    throw new Error(`unknown operator "${operator}" in a filter of Refine; operators: ${supported}`)
  }
  return comparisons
    .map(([name, operandOf]) => [name, operandOf(value)] as const)
    .filter(([, operand]) => operand !== undefined && operand !== null)
    .map(([name, operand]) => ({ [`${fieldNameOf(field)}__${name}`]: operand }))
}
