import { ValueError } from '../errors'
import type { ResourceView } from '../schema/resource-view'
import { type Query, rootAlias, type WriteMoment, whereVisible, whereWritable } from './query'

/**
 * Condition for reading a record by its key: none, that the principal may see it, or that the principal may see it and
 * write it.
 */
export type ItemCondition = 'none' | 'visible' | WriteMoment

/** Query for the record with this key. */
export function itemQuery(
  view: ResourceView,
  key: unknown,
  select: Query['select'] = 'columns',
  condition: ItemCondition = 'visible',
): Query {
  const hasKey = { type: 'compare', on: { alias: rootAlias, field: view.key }, operator: 'eq', valuesIndex: 0 } as const
  const visible = condition === 'none' ? hasKey : whereVisible(view, hasKey)
  const where = typeof condition === 'string' ? visible : whereWritable(view, condition, visible)
  return { view, joins: [], where, values: [[key]], select, ordering: [], included: [], cursor: undefined }
}

/**
 * Parses the last segment of an item path.
 * @returns undefined if it cannot be the key of a record
 */
export function parseKey({ key }: ResourceView, segment: string): unknown {
  if (key.valueType.inPath !== undefined && !key.valueType.inPath.test(segment)) return undefined
  try {
    return key.valueType.fromText(decodeURIComponent(segment))
  } catch (error) {
    if (error instanceof ValueError || error instanceof URIError) return undefined
    throw error
  }
}
