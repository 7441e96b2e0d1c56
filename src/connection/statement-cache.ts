import { LRUCache } from 'lru-cache'

/** A compiled statement: SQL with placeholders, and where their values come from. */
export interface Statement {
  readonly sql: string
  /** In the order of the placeholders. */
  readonly sources: readonly Source[]
}

/** Source of the value for a placeholder: one of the values bound at execution, or a constant. */
export interface Source {
  /** Index in the bound values; undefined for a constant. */
  readonly index: number | undefined
  readonly constant: unknown
}

/** Compiled statements of one mount by cache key. The least recently used ones are evicted first. */
export type StatementCache = LRUCache<string, Statement>

/** Maximum size of a cache, in characters of its keys and statements. A character takes one or two bytes of memory. */
const cacheSize = 8 * 1024 * 1024
/**
 * Maximum size of an entry in characters. Larger statements, such as those with hundreds of values, are compiled each
 * time.
 */
const maxEntrySize = 64 * 1024
/** Size of a `Source`, in the same unit: it takes about 40 bytes. */
const sourceSize = 40

export function newStatementCache(): StatementCache {
  return new LRUCache({
    maxSize: cacheSize,
    maxEntrySize,
    sizeCalculation: ({ sql, sources }, key) => key.length + sql.length + sources.length * sourceSize,
  })
}
