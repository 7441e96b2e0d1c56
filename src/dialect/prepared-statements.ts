import { LRUCache } from 'lru-cache'

/** Statements that one connection keeps prepared: each takes memory of the database's server, or of this process on SQLite. */
const maxStatements = 100
/** Characters of all their texts together. */
const maxCharacters = 512 * 1024
/** Characters of one text, and placeholders in it. Larger ones are prepared for each run. */
const maxLength = 16 * 1024
const maxPlaceholders = 256

/** A cache of prepared statements by their text, the least recently used of which are evicted first. */
export type KeptStatements<Prepared extends object> = LRUCache<string, Prepared>

/** @param onEvict releases what the database keeps for a statement */
export function keepStatements<Prepared extends object>(
  onEvict: (prepared: Prepared, sql: string) => void,
): KeptStatements<Prepared> {
  return new LRUCache({
    max: maxStatements,
    maxSize: maxCharacters,
    maxEntrySize: maxLength,
    // More than the largest entry is not kept.
    sizeCalculation: (_, sql) => (hasManyPlaceholders(sql) ? maxLength + 1 : sql.length),
    dispose: onEvict,
  })
}

/** Each placeholder takes hundreds of bytes, in the driver for MySQL as well as in the servers. */
function hasManyPlaceholders(sql: string): boolean {
  return (sql.match(/\?|\$\d/g)?.length ?? 0) > maxPlaceholders
}
