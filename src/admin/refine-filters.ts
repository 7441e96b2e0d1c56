import { keyOf, type Values } from './collection.ts'
import { containing, escapePattern } from './pattern.ts'
import type { Filter } from './refine-types.ts'

type Operand = (value: unknown) => unknown
const same: Operand = (value) => value
const beginning: Operand = (value) => `${escapePattern(String(value))}%`
const ending: Operand = (value) => `%${escapePattern(String(value))}`
const within: Operand = (value) => containing(String(value))

/** Refine's operators as parameters of the service: the operator, and what it is compared with. */
const operators: Readonly<Record<string, readonly (readonly [operator: string, operand: Operand])[]>> = {
  eq: [['eq', same]],
  eqs: [['eq', same]],
  ne: [['ne', same]],
  nes: [['ne', same]],
  lt: [['lt', same]],
  lte: [['lte', same]],
  gt: [['gt', same]],
  gte: [['gte', same]],
  in: [['in', same]],
  between: [
    ['gte', (range) => (range as readonly unknown[])[0]],
    ['lte', (range) => (range as readonly unknown[])[1]],
  ],
  null: [['is', () => 'null']],
  nnull: [['is', () => 'not_null']],
  contains: [['ilike', within]],
  containss: [['like', within]],
  startswith: [['ilike', beginning]],
  startswiths: [['like', beginning]],
  endswith: [['ilike', ending]],
  endswiths: [['like', ending]],
}

/** Refine's operators that are the complement of others. Records with null meet them too. */
const complements: Readonly<Record<string, string>> = {
  nin: 'in',
  ncontains: 'contains',
  ncontainss: 'containss',
  nbetween: 'between',
  nstartswith: 'startswith',
  nstartswiths: 'startswiths',
  nendswith: 'endswith',
  nendswiths: 'endswiths',
}

/** Filters of the client. */
interface Group {
  readonly [name: string]: unknown
  readonly and?: readonly Group[]
}

/**
 * Filters of Refine, all of which must hold.
 * @throws {Error} for what the service cannot be asked
 */
export function filtersOf(filters: readonly Filter[]): Values {
  return merged(filters.flatMap(groupsOf))
}

/** Groups all of which must hold, as one: names that come twice in groups of their own. */
function merged(groups: readonly Group[]): Group {
  const [first = {}, ...others] = groups
  const rest = others.filter((group) => Object.keys(group).some((name) => Object.hasOwn(first, name)))
  const own = Object.assign({}, first, ...others.filter((group) => !rest.includes(group)))
  return rest.length === 0 ? own : { ...own, and: rest }
}

function groupsOf({ operator, field = '', value }: Filter): readonly Group[] {
  if (operator === 'and') return (value as readonly Filter[]).flatMap(groupsOf)
  if (operator === 'or') {
    const members = (value as readonly Filter[]).map((filter) => filtersOf([filter]))
    const set = members.filter((member) => Object.keys(member).length > 0)
    return set.length === 0 ? [] : [{ or: set }]
  }
  // Refine's tables leave a filter that is not set undefined.
  if (value === undefined) return []
  const complement = complements[operator]
  if (complement !== undefined) return [{ not: filtersOf([{ operator: complement, field, value }]) }]
  const said = operators[operator]
  if (said === undefined) {
    const known = ['and', 'or', ...Object.keys(operators), ...Object.keys(complements)].join(', ')
    throw new Error(`the service has no filter by "${operator}"; operators: ${known}`)
  }
  return said.map(([name, operand]) => ({ [`${keyOf(field)}__${name}`]: operand(value) }))
}
