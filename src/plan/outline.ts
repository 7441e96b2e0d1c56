import { LRUCache } from 'lru-cache'
import type { FieldErrors } from '../errors'
import type { Limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import type { Resource } from '../schema/registry'
import type { Comparison, Order, Scope } from './plan'
import { ScopeBuilder } from './scope-builder'

/** What the names of a list request ask, whatever the values are: looked up once for all requests of the same names. */
export interface Outline {
  /** Says all of it: no other outline of the resource has the same. */
  readonly names: string
  readonly scope: Scope
  readonly ordering: readonly Order[]
  /** What each filter of the request compares, the same for those of one name; undefined for one that cannot be answered. */
  readonly filters: readonly (Comparison | undefined)[]
}

/** Outlines of one mount by their cache keys, the least recently used of which are evicted first. */
export type OutlineCache = LRUCache<string, Outline>

/** Bytes of all outlines of a cache, and of one, as estimated by {@link sizeOf}. Larger ones are looked up for each request. */
const cacheSize = 4 * 1024 * 1024
const entrySize = 32 * 1024

export function newOutlineCache(): OutlineCache {
  return new LRUCache({ maxSize: cacheSize, maxEntrySize: entrySize, sizeCalculation: sizeOf })
}

/** By measurement, a filter takes up to 500 bytes and a sort column 100. */
function sizeOf({ filters, ordering }: Outline, key: string): number {
  return key.length + filters.length * 500 + ordering.length * 100
}

/** What a mount has for outlines. */
export interface OutlineContext {
  readonly limits: Limits
  readonly outlines: OutlineCache
}

/** From memory, or looked up. @param errors receives every name that cannot be answered; then it is not remembered */
export function outlineOf(
  resource: Resource,
  { filters, where, ordering, names }: ListRequest,
  { limits, outlines }: OutlineContext,
  errors: FieldErrors,
): Outline {
  const cacheKey = `${resource.name} ${names}`
  const remembered = outlines.get(cacheKey)
  if (remembered !== undefined) return remembered
  const builder = new ScopeBuilder(resource, filters, limits, errors)
  const outline: Outline = {
    // Not `names`, which consists of slices of the whole URL, and would keep it in memory.
    names: cacheKey,
    scope: builder.build(where),
    ordering: builder.order(ordering),
    filters: builder.comparisons,
  }
  if (errors.isEmpty) outlines.set(cacheKey, outline)
  return outline
}
