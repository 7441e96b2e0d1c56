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

/**
 * Filters of Refine, all of which must hold, as the service's.
 * @throws {Error} for what the service cannot be asked
 */
export function filtersOf(filters: readonly Filter[]): Values {
  const parameters: Record<string, unknown> = {}
  for (const [name, value] of filters.flatMap(parametersOf)) {
    if (Object.hasOwn(parameters, name)) throw new Error(`there are two filters ${name}: the service takes one`)
    parameters[name] = value
  }
  return parameters
}

function parametersOf({ operator, field = '', value }: Filter): readonly (readonly [name: string, value: unknown])[] {
  if (operator === 'and') return (value as readonly Filter[]).flatMap(parametersOf)
  const said = operators[operator]
  if (said === undefined) {
    const known = Object.keys(operators).join(', ')
    throw new Error(`the service has no filter by "${operator}"; operators: and, ${known}`)
  }
  // Refine's tables leave a filter that is not set undefined.
  if (value === undefined) return []
  return said.map(([name, operand]) => [`${keyOf(field)}__${name}`, operand(value)])
}
