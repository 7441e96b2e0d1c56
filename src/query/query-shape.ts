import { LRUCache } from 'lru-cache'
import type { FieldErrors } from '../errors'
import { copyOf } from '../request/copy'
import type { Limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import type { FilterNames, ResourceView } from '../schema/resource-view'
import { InclusionBuilder } from './build-inclusion'
import { ConditionBuilder, searchOf } from './condition-builder'
import { whereVisible } from './query'
import type { InclusionShape, QueryShape } from './shape'

/** Query shapes of one mount by their cache keys. The least recently used ones are evicted first. */
export type QueryShapeCache = LRUCache<string, QueryShape>

/** Maximum size of a cache, in bytes, as estimated by {@link sizeOf}. */
const maxCacheBytes = 4 * 1024 * 1024
/** Maximum size of one shape in a cache, in bytes. Larger shapes are built for each request. */
const maxEntryBytes = 32 * 1024

export function newQueryShapeCache(): QueryShapeCache {
  return new LRUCache({ maxSize: maxCacheBytes, maxEntrySize: maxEntryBytes, sizeCalculation: sizeOf })
}

/**
 * Estimated size in bytes. As measured, a filter takes up to 500 bytes, a sort column 100 bytes, a field of an included record
 * 500 bytes, and a column that is read for one 40 bytes.
 */
function sizeOf({ filters, search, ordering, inclusion }: QueryShape, key: string): number {
  return key.length + (filters.length + search.flat().length) * 500 + ordering.length * 100 + sizeOfIncluded(inclusion)
}

/** The size of the shapes of included records, at all depths. */
function sizeOfIncluded({ records, lists }: InclusionShape): number {
  let size = 0
  for (const { view, inclusion } of records) size += sizeOfView(view) + sizeOfIncluded(inclusion)
  for (const { view, shape } of lists) size += sizeOfView(view) + sizeOf(shape, shape.cacheKey)
  return size
}

function sizeOfView({ outputFields, columns }: ResourceView): number {
  return outputFields.length * 500 + columns.length * 40
}

/**
 * Removes the shapes that were built from views which are evicted from memory. Otherwise the shapes would keep these views
 * in memory, and a request with a newly built view would get columns of the old one.
 */
export function removeShapesOf(views: Iterable<FilterNames>, shapes: QueryShapeCache): void {
  const evicted = new Set(views)
  for (const [key, { view }] of [...shapes.entries()]) if (evicted.has(view)) shapes.delete(key)
}

/** What building a query shape needs of its mount: limits, and the cache of query shapes. */
export interface QueryContext {
  readonly limits: Limits
  readonly queryShapes: QueryShapeCache
}

/** The names of a request. */
type ShapeRequest = Pick<ListRequest, 'filters' | 'where' | 'search' | 'ordering' | 'includes' | 'cacheKey'>

/**
 * Returns the query shape of a request, from the cache if it is there.
 * @param errors receives every name that cannot be resolved; then the shape is not cached
 */
export function queryShapeOf(
  view: ResourceView,
  { filters, where, search, ordering, includes, cacheKey: requestKey }: ShapeRequest,
  context: QueryContext,
  errors: FieldErrors,
): QueryShape {
  const { limits, queryShapes } = context
  const cacheKey = `${view.cacheKey} ${requestKey}`
  const cached = queryShapes.get(cacheKey)
  if (cached !== undefined) return cached
  const names = filters.map(({ name }) => ({ name: copyOf(name) }))
  const builder = new ConditionBuilder(view, names, limits, errors)
  const inclusions = new InclusionBuilder(builder, (related, request, inner) =>
    queryShapeOf(related, request, context, inner),
  )
  const inclusion = inclusions.build(view, includes, errors)
  const { joins, where: condition } = builder.build(where, searchOf(view), search.length)
  const shape: QueryShape = {
    cacheKey: copyOf(cacheKey),
    view,
    joins,
    where: whereVisible(view, condition),
    ordering: builder.sortColumns(ordering, view.key),
    filters: builder.comparisons,
    search: builder.wordComparisons,
    match: builder.match,
    guardedViews: [...builder.guardedViews, ...inclusions.lists.flatMap((list) => list.shape.guardedViews)],
    inclusion,
    includedRecords: inclusions.records,
  }
  if (errors.isEmpty) queryShapes.set(shape.cacheKey, shape)
  return shape
}
