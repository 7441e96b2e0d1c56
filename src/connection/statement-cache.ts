import { LRUCache } from 'lru-cache'

/** SQL with placeholders, and where their values come from: what TypeORM is asked for once, for all requests of one shape. */
export interface Statement {
  readonly sql: string
  /** In the order of the placeholders. */
  readonly sources: readonly Source[]
}

/** One of the values that the statement is run with, or always the same. */
export interface Source {
  /** Of the value; undefined for what is always the same. */
  readonly index: number | undefined
  readonly constant: unknown
}

/** Statements of one mount by their cache keys, the least recently used of which are evicted first. */
export type StatementCache = LRUCache<string, Statement>

/** Characters of all keys and statements of a cache, which may take two bytes each. */
const cacheSize = 8 * 1024 * 1024
/** Characters of one key and its statement. Longer ones, as those of hundreds of values, are compiled for each request. */
const entrySize = 32 * 1024
/** Characters that a source counts for: it takes about as many bytes. */
const sourceSize = 40

export function newStatementCache(): StatementCache {
  return new LRUCache({
    maxSize: cacheSize,
    maxEntrySize: entrySize,
    sizeCalculation: ({ sql, sources }, key) => key.length + sql.length + sources.length * sourceSize,
  })
}
