import { type Faults, ValueError } from '../errors'
import { limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { readOperand } from './operand'
import { findField, type Path, readPath } from './path'
import { type Condition, type Join, type Order, rootAlias, type SelectPlan } from './plan'

/**
 * Resolves the names and values of a list request. One row more than the page is asked for, to know of a next one (D21).
 * @param faults receives every name and value that cannot be answered
 */
export function planList(resource: Resource, request: ListRequest, faults: Faults): SelectPlan {
  const joins = new Map<string, Join>()
  return {
    resource,
    conditions: planConditions(resource, request, joins, faults),
    joins: [...joins.values()],
    ordering: planOrdering(resource, request.ordering, faults),
    limit: request.limit + 1,
    offset: (request.page - 1) * request.limit,
  }
}

/** The record of this key. */
export function planItem(resource: Resource, key: unknown): SelectPlan {
  const column = { alias: rootAlias, field: resource.key }
  return {
    resource,
    joins: [],
    conditions: [{ column, operator: 'eq', values: [key] }],
    ordering: [],
    limit: 1,
    offset: 0,
  }
}

/**
 * Reads the last segment of an item path.
 * @returns undefined for what cannot be the key of a record
 */
export function readKey({ key }: Resource, segment: string): unknown {
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
  faults: Faults,
): readonly Condition[] {
  const conditions = new Map<string, Condition & { readonly values: unknown[] }>()
  for (const { name, value } of request.filters) {
    faults.try(name, () => {
      const { through, field, operator } = readPath(resource, name)
      const values = readOperand(field, operator, value)
      const alias = joinThrough(through, joins)
      const condition = conditions.get(name) ?? { column: { alias, field }, operator, values: [] }
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
function planOrdering(resource: Resource, ordering: readonly string[], faults: Faults): readonly Order[] {
  const orders = new Map<Field['column'], Order>()
  const add = (field: Field, descending: boolean): void => {
    if (!orders.has(field.column)) orders.set(field.column, { column: { alias: rootAlias, field }, descending })
  }
  for (const text of ordering) {
    if (faults.full) break
    faults.try('ordering', () => {
      const descending = text.startsWith('-')
      const name = descending ? text.slice(1) : text
      const field = findField(resource, name, `names "${name}", which `)
      if (!field.kind.operators.includes('eq')) throw new ValueError(`cannot sort by ${name}`)
      add(field, descending)
    })
  }
  add(resource.key, false)
  return [...orders.values()]
}
