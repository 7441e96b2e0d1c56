import type { Parameter, Schema } from './document'

/** What a list can be filtered by: a field of its own, or one through relations, with the operators that it has. */
export interface FilterField {
  readonly name: string
  readonly operators: ReadonlyMap<string, Schema>
}

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
}

/** Parameters that are no fields; `after` may be one, where its parameter is no token, which is empty for the first page. */
const reserved: readonly string[] = ['ordering', 'limit', 'page']

/** What the parameters of a list say of its filters. */
export function filtersIn(parameters: readonly Parameter[]): readonly FilterField[] {
  const names = new Set(parameters.map(({ name }) => name))
  const found = new Map<string, Map<string, Schema>>()
  for (const { name, schema, allowEmptyValue } of parameters) {
    if (reserved.includes(name) || allowEmptyValue) continue
    const [, base = name, operator = 'eq'] = /^(.+)__([a-z]+)$/.exec(name) ?? []
    const isOperator = Object.hasOwn(operators, operator) && (names.has(base) || operator === 'is' || operator === 'eq')
    const key = isOperator ? base : name
    const field = found.get(key) ?? new Map<string, Schema>()
    field.set(isOperator ? operator : 'eq', schema)
    found.set(key, field)
  }
  return [...found].map(([name, all]) => ({ name, operators: all }))
}

/** The name of a filter in the query string. */
export function filterName(field: string, operator: string): string {
  return operator === 'eq' && !reserved.includes(field) ? field : `${field}__${operator}`
}

/** What a filter of the query string is about; undefined for what the list has none of. */
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
