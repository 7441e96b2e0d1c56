import { type FieldErrors, ValueError } from '../errors'
import { limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { parseOperand } from './operand'
import { type Path, parsePath } from './path'
import { type Condition, type Join, type Order, rootAlias, type SelectPlan } from './plan'
import { requireField } from './require-field'

/**
 * Resolves the names and values of a list request. One row more than the page is asked for, to know of a next one (D21).
 * @param errors receives every name and value that cannot be answered
 */
export function planList(resource: Resource, request: ListRequest, errors: FieldErrors): SelectPlan {
  const joins = new Map<string, Join>()
  return {
    resource,
    conditions: planConditions(resource, request, joins, errors),
    joins: [...joins.values()],
    ordering: planOrdering(resource, request.ordering, errors),
    limit: request.limit + 1,
    offset: (request.page - 1) * request.limit,
  }
}

/** The record of this key. */
export function planItem(resource: Resource, key: unknown): SelectPlan {
  const on = { alias: rootAlias, field: resource.key }
  return {
    resource,
    joins: [],
    conditions: [{ on, operator: 'eq', values: [key] }],
    ordering: [],
    limit: 1,
    offset: 0,
  }
}

/**
 * Reads the last segment of an item path.
 * @returns undefined for what cannot be the key of a record
 */
export function parseKey({ key }: Resource, segment: string): unknown {
  if (key.kind.inPath !== undefined && !key.kind.inPath.test(segment)) return undefined
  try {
    return key.kind.fromText(decodeURIComponent(segment))
  } catch (error) {
    if (error instanceof ValueError || error instanceof URIError) return undefined
    throw error
  }
}

function planConditions(
  resource: Resource,
  request: ListRequest,
  joins: Map<string, Join>,
  errors: FieldErrors,
): readonly Condition[] {
  const conditions = new Map<string, Condition & { readonly values: unknown[] }>()
  for (const { name, value } of request.filters) {
    errors.try(name, () => {
      const { through, field, operator } = parsePath(resource, name)
      const values = parseOperand(field, operator, value)
      const alias = joinThrough(through, joins)
      const condition = conditions.get(name) ?? { on: { alias, field }, operator, values: [] }
      condition.values.push(...values)
      if (condition.values.length > limits.members) {
        throw new ValueError(`may have ${limits.members} members, this has ${condition.values.length}`)
      }
      conditions.set(name, condition)
    })
  }
  return [...conditions.values()]
}

/** Joins what a path goes through, each foreign key once. @returns the alias of its end */
function joinThrough(through: Path['through'], joins: Map<string, Join>): string {
  let alias = rootAlias
  let path = ''
  for (const field of through) {
    path += `${field.name}__`
    const join = joins.get(path) ?? { alias: `t${joins.size + 1}`, from: { alias, field } }
    joins.set(path, join)
    alias = join.alias
  }
  if (joins.size > limits.joins) throw new ValueError(`joins one table too many; ${limits.joins} are allowed`)
  return alias
}

/** The key comes last, so that the order is total and pages neither repeat nor skip (D20). */
function planOrdering(resource: Resource, ordering: readonly string[], errors: FieldErrors): readonly Order[] {
  const orders = new Map<Field['column'], Order>()
  const add = (field: Field, descending: boolean): void => {
    if (!orders.has(field.column)) orders.set(field.column, { by: { alias: rootAlias, field }, descending })
  }
  for (const text of ordering) {
    if (errors.isFull) break
    errors.try('ordering', () => {
      const descending = text.startsWith('-')
      const name = descending ? text.slice(1) : text
      const field = requireField(resource, resource.fields, name, `names "${name}", which `)
      // What cannot be compared has no order either.
      if (!field.kind.operators.includes('eq')) throw new ValueError(`cannot sort by ${name}`)
      add(field, descending)
    })
  }
  add(resource.key, false)
  return [...orders.values()]
}
