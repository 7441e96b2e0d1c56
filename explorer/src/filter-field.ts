import { containing } from '../../src/admin/pattern'
import { operandOf } from '../../src/client/group-text'
import type { Operands } from '../../src/client/operators'
import type { Parameter, Schema } from './document'

/** A field by which a list can be filtered, with its operators. It may be a field of a related record. */
export interface FilterField {
  readonly name: string
  readonly operators: ReadonlyMap<string, Schema>
}

/** Text of a pattern for texts that contain it; undefined for other patterns. */
export function textInPattern(pattern: string): string | undefined {
  const inner = /^%(.*)%$/s.exec(pattern)?.[1]?.replaceAll(/\\([\\%_])/g, '$1')
  return inner !== undefined && containing(inner) === pattern ? inner : undefined
}

/** Operator for texts that contain a text: `ilike`, or else `like`; undefined if the field has neither. */
export function containsOperator({ operators: known }: FilterField): string | undefined {
  return ['ilike', 'like'].find((one) => known.has(one))
}

/** Labels of the operators. The compiler checks that there is one for each operator of the typed client. */
export const operators: Readonly<Record<string, string>> = {
  eq: '=',
  ne: '≠',
  lt: '<',
  lte: '≤',
  gt: '>',
  gte: '≥',
  in: 'is one of',
  is: 'is',
  like: 'like',
  ilike: 'like, any case',
} satisfies Readonly<Record<keyof Operands<string>, string>>

/** Parameters that are not filters. */
const reserved: readonly string[] = ['ordering', 'limit', 'page', 'or', 'and', 'not']
/** Parameters that are not filters, unless a field has this name. Then there is also a parameter `<name>__is`. */
export const optional: readonly string[] = [
  'after',
  'count',
  'search',
  'fields',
  'include',
  'aggregate',
  'by',
  'format',
]

/** Whether a parameter lists soft-deleted records, and is not a filter on a field with the name `deleted`. */
function listsDeleted({ name, schema }: Parameter): boolean {
  return name === 'deleted' && schema.enum?.includes('only') === true
}

/** Filters of a list, from its parameters in the OpenAPI document. */
export function filtersIn(parameters: readonly Parameter[]): readonly FilterField[] {
  const names = new Set(parameters.map(({ name }) => name))
  const found = new Map<string, Map<string, Schema>>()
  for (const { name, schema } of parameters.filter((parameter) => !listsDeleted(parameter))) {
    if (reserved.includes(name) || (optional.includes(name) && !names.has(`${name}__is`))) continue
    const [, base = name, operator = 'eq'] = /^(.+)__([a-z]+)$/.exec(name) ?? []
    const isOperator = Object.hasOwn(operators, operator) && (names.has(base) || operator === 'is' || operator === 'eq')
    const key = isOperator ? base : name
    const field = found.get(key) ?? new Map<string, Schema>()
    field.set(isOperator ? operator : 'eq', schema)
    found.set(key, field)
  }
  return [...found].map(([name, all]) => ({ name, operators: all }))
}

/** Name of a filter in the query string. A field `deleted` has an operator, because a parameter may have this name. */
export function filterName(field: string, operator: string): string {
  return operator === 'eq' && !reserved.includes(field) && field !== 'deleted' ? field : `${field}__${operator}`
}

/** Field and operator of a parameter in the query string; undefined if it is not a filter of the list. */
export function findFilter(
  filters: readonly FilterField[],
  name: string,
): { field: FilterField; operator: string } | undefined {
  for (const field of filters) {
    for (const operator of field.operators.keys()) {
      if (filterName(field.name, operator) === name || `${field.name}__${operator}` === name) return { field, operator }
    }
  }
  return undefined
}

/** Value of a parameter that is not a filter; undefined if a field has its name. */
export function parameterIn(filters: readonly FilterField[], query: URLSearchParams, name: string): string | undefined {
  return findFilter(filters, name) === undefined ? (query.get(name) ?? undefined) : undefined
}

/** Member of a group for a filter. */
function memberOf(name: string, value: string): string {
  return `${name}:${operandOf(value)}`
}

/**
 * Query in which one filter is combined with another one by `or`, such as `or=(name:Lima,population__gt:5)`.
 * @param index of the first filter
 */
export function withAlternative(query: URLSearchParams, index: number, name: string, value: string): URLSearchParams {
  const added = memberOf(name, value)
  const pairs = [...query].map(([known, text], at): [string, string] => {
    if (at !== index) return [known, text]
    return ['or', known === 'or' ? `${text.replace(/[)]$/, '')},${added})` : `(${memberOf(known, text)},${added})`]
  })
  return new URLSearchParams(pairs)
}

/** Members of a group. @returns undefined if it contains groups or lists */
export function alternativesIn(text: string): readonly (readonly [name: string, value: string])[] | undefined {
  const inner = /^[(](.*)[)]$/s.exec(text)?.[1]
  if (inner === undefined) return undefined
  const members = [...`${inner},`.matchAll(/([^:(),"]+):(?:"((?:[^"]|"")*)"|([^(),"]*)),/gy)]
  if (members.reduce((length, [match]) => length + match.length, 0) <= inner.length) return undefined
  return members.map(([, name = '', quoted, plain = '']) => [name, quoted?.replaceAll('""', '"') ?? plain])
}
