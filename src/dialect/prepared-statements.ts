import { LRUCache } from 'lru-cache'

/** Prepared statements per connection. Each takes memory in the database server, or in this process on SQLite. */
const maxStatements = 100
/** Total length, in characters, of the SQL of all prepared statements of a connection. */
const maxCharacters = 512 * 1024
/** Maximum length, in characters, of one statement. Longer statements are prepared for each execution. */
const maxLength = 16 * 1024
/** Maximum number of placeholders of one statement. Statements with more are prepared for each execution. */
const maxPlaceholders = 256

/** A cache of the prepared statements of one connection by SQL. The least recently used ones are evicted first. */
export type PreparedStatementCache<Prepared extends object> = LRUCache<string, Prepared>

/** @param onEvict releases the resources of a prepared statement in the database */
export function newPreparedStatementCache<Prepared extends object>(
  onEvict: (prepared: Prepared, sql: string) => void,
): PreparedStatementCache<Prepared> {
  return new LRUCache({
    max: maxStatements,
    maxSize: maxCharacters,
    maxEntrySize: maxLength,
    // An entry larger than `maxEntrySize` is not cached.
    sizeCalculation: (_, sql) => (hasManyPlaceholders(sql) ? maxLength + 1 : sql.length),
    dispose: onEvict,
  })
}

/** Each placeholder takes hundreds of bytes, in mysql2 as well as in the servers. */
function hasManyPlaceholders(sql: string): boolean {
  return (sql.match(/\?|\$\d/g)?.length ?? 0) > maxPlaceholders
}
