import { LRUCache } from 'lru-cache'

/** Prepared statements per connection. Each takes memory in the database server, or in this process on SQLite. */
const maxStatements = 100
/** Maximum length, in characters, of one statement. Longer statements are prepared for each execution. */
const maxLength = 16 * 1024

/** How much the prepared statements of a connection may be. */
export interface PreparedStatementLimits {
  /** Maximum number of placeholders of one statement. Statements with more are prepared for each execution. */
  readonly placeholders: number
  /** Maximum size of all statements, in bytes: the lengths of their texts, and `placeholderBytes` for each placeholder. */
  readonly size: number
  readonly placeholderBytes: number
}

/** In servers, and in mysql2, each placeholder takes hundreds of bytes, for each connection of the pool. */
export const serverLimits: PreparedStatementLimits = { placeholders: 256, size: 512 * 1024, placeholderBytes: 0 }

/** As measured, SQLite keeps 180 bytes for each placeholder of an `IN` list, and half of it for those of an INSERT. */
export const sqliteLimits: PreparedStatementLimits = {
  placeholders: 1024,
  size: 4 * 1024 * 1024,
  placeholderBytes: 180,
}

/** A cache of the prepared statements of one connection by SQL. The least recently used ones are evicted first. */
export type PreparedStatementCache<Prepared extends object> = LRUCache<string, Prepared>

/** @param onEvict releases the resources of a prepared statement in the database */
export function newPreparedStatementCache<Prepared extends object>(
  { placeholders, size, placeholderBytes }: PreparedStatementLimits,
  onEvict: (prepared: Prepared, sql: string) => void,
): PreparedStatementCache<Prepared> {
  return new LRUCache({
    max: maxStatements,
    maxSize: size,
    // A statement that is larger than all together is not cached.
    sizeCalculation: (_, sql) => {
      const count = countPlaceholders(sql)
      return sql.length > maxLength || count > placeholders ? size + 1 : sql.length + count * placeholderBytes
    },
    dispose: onEvict,
  })
}

function countPlaceholders(sql: string): number {
  return sql.match(/\?|\$\d/g)?.length ?? 0
}
