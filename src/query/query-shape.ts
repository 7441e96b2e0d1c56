import { LRUCache } from 'lru-cache'
import type { FieldErrors } from '../errors'
import type { Limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import type { Resource } from '../schema/registry'
import type { Comparison, Order, Scope } from './query'
import { ScopeBuilder } from './scope-builder'

/** What the names of a list request ask, whatever the values are: looked up once for all requests of the same names. */
export interface QueryShape {
  /** Says all of it: no other outline of the resource has the same. */
  readonly cacheKey: string
  readonly scope: Scope
  readonly ordering: readonly Order[]
  /** What each filter of the request compares, the same for those of one name; undefined for one that cannot be answered. */
  readonly filters: readonly (Comparison | undefined)[]
}

/** Outlines of one mount by their cache keys, the least recently used of which are evicted first. */
export type QueryShapeCache = LRUCache<string, QueryShape>

/** Bytes of all outlines of a cache, and of one, as estimated by {@link sizeOf}. Larger ones are looked up for each request. */
const cacheSize = 4 * 1024 * 1024
const entrySize = 32 * 1024

export function newQueryShapeCache(): QueryShapeCache {
  return new LRUCache({ maxSize: cacheSize, maxEntrySize: entrySize, sizeCalculation: sizeOf })
}

/** By measurement, a filter takes up to 500 bytes and a sort column 100. */
function sizeOf({ filters, ordering }: QueryShape, key: string): number {
  return key.length + filters.length * 500 + ordering.length * 100
}

/** What a mount has for outlines. */
export interface QueryContext {
  readonly limits: Limits
  readonly queryShapes: QueryShapeCache
}

/** From memory, or looked up. @param errors receives every name that cannot be answered; then it is not remembered */
export function queryShapeOf(
  resource: Resource,
  { filters, where, ordering, cacheKey: names }: ListRequest,
  { limits, queryShapes }: QueryContext,
  errors: FieldErrors,
): QueryShape {
  const cacheKey = `${resource.name} ${names}`
  const remembered = queryShapes.get(cacheKey)
  if (remembered !== undefined) return remembered
  const builder = new ScopeBuilder(resource, filters, limits, errors)
  const shape: QueryShape = {
    // Not the request's key, which consists of slices of the whole URL, and would keep it in memory.
    cacheKey,
    scope: builder.build(where),
    ordering: builder.order(ordering),
    filters: builder.comparisons,
  }
  if (errors.isEmpty) queryShapes.set(cacheKey, shape)
  return shape
}
