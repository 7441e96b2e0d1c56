import { ValueError } from '../errors'
import type { DeletedRecords } from '../request/list-request'
import type { ResourceView } from '../schema/resource-view'
import {
  type Condition,
  type Query,
  rootAlias,
  type WriteMoment,
  whereDeleted,
  whereRelated,
  whereVisible,
  whereWritable,
} from './query'

/**
 * Condition for reading a record by its key: none, that the principal may see it, that a request of the principal may follow
 * a relation to it, or that the principal may see it and write it.
 */
export type ItemCondition = 'none' | 'visible' | 'related' | WriteMoment

/**
 * Query for the record with this key.
 * @param deleted which soft-deleted records are read. Default: none. The condition `none` permits all of them, any other
 * condition only those that the principal may restore
 */
export function itemQuery(
  view: ResourceView,
  key: unknown,
  select: Query['select'] = 'columns',
  condition: ItemCondition = 'visible',
  deleted?: DeletedRecords,
): Query {
  return itemsQuery(view, [key], select, condition, deleted)
}

/** Query for the records with these keys. */
export function itemsQuery(
  view: ResourceView,
  keys: readonly unknown[],
  select: Query['select'],
  condition: ItemCondition,
  deleted?: DeletedRecords,
): Query {
  const operator = keys.length === 1 ? 'eq' : 'in'
  const hasKey = { type: 'compare', on: { alias: rootAlias, field: view.key }, operator, valuesIndex: 0 } as const
  const where = whereMatching(view, condition, hasKey)
  const query: Query = {
    view,
    joins: [],
    where,
    values: [keys],
    select,
    ordering: [],
    included: [],
    cursor: undefined,
  }
  if (deleted === undefined) return query
  return { ...query, where: condition === 'none' ? where : whereDeleted(view, deleted, where), readsDeleted: true }
}

/** Adds what records must match to a condition on them. */
export function whereMatching(view: ResourceView, condition: ItemCondition, where: Condition): Condition {
  if (condition === 'none') return where
  if (condition === 'related') return whereRelated(view, where)
  const visible = whereVisible(view, where)
  return condition === 'visible' ? visible : whereWritable(view, condition, visible)
}

/**
 * Parses the last segment of an item path.
 * @returns undefined if it cannot be the key of a record
 */
export function parseKey(view: ResourceView, segment: string): unknown {
  const { inPath } = view.key.valueType
  if (inPath !== undefined && !inPath.test(segment)) return undefined
  try {
    return parseKeyText(view, decodeURIComponent(segment))
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

/**
 * Parses the text of a key.
 * @returns undefined if it cannot be the key of a record
 */
export function parseKeyText({ key }: ResourceView, text: string): unknown {
  try {
    return key.valueType.fromText(text)
  } catch (error) {
    if (error instanceof ValueError) return undefined
    throw error
  }
}
