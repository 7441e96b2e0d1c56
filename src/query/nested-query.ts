import type { NestedRelation, ResourceView } from '../schema/resource-view'
import { foreignKeyTo } from './build-inclusion'
import { whereMatching } from './item-query'
import { type Condition, type IncludedList, type Query, rootAlias, type SortColumn } from './query'

/** Which related records to read, and what of them. */
export interface NestedReading {
  readonly select: Query['select']
  /** The keys of the records to read; undefined for all of them. */
  readonly keys?: readonly unknown[]
  /** Maximum number of records. */
  readonly limit: number
}

/** Everything but the keys, which are bound. */
const every: Condition = { type: 'and', conditions: [] }

/** The list of a relation's records that a nested write compares with those of the body: the visible ones, by their keys. */
export function nestedList(
  parent: ResourceView,
  { type, relation, target }: NestedRelation,
  { select, keys, limit }: NestedReading,
): IncludedList {
  const on = { alias: rootAlias, field: target.key }
  const base = keys === undefined ? every : ({ type: 'compare', on, operator: 'in', valuesIndex: 0 } as const)
  const condition = type === 'links' ? 'related' : 'visible'
  return {
    path: [],
    relation,
    view: target,
    foreignKey: foreignKeyTo(parent, target, relation),
    query: {
      view: target,
      joins: [],
      where: whereMatching(target, condition, base),
      values: keys === undefined ? [] : [keys],
      select,
      ordering: keyOrdering(target),
      included: [],
      inclusion: undefined,
      cursor: undefined,
      guardedViews: [],
      cacheKey: `nested ${condition} ${select} ${keys !== undefined}`,
      limit,
      offset: 0,
    },
    limit,
    isCounted: false,
    repeated: '',
  }
}

function keyOrdering({ key }: ResourceView): readonly SortColumn[] {
  return key.columns.map((column) => ({
    name: column.column.propertyPath,
    alias: rootAlias,
    column,
    descending: false,
    nulls: 'first',
    isShown: true,
  }))
}
