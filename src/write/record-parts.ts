import type { DbSession } from '../connection/db-session'
import type { ChangeSet } from '../query/query'
import { measureOf, valueLimitFor } from '../read/measure'
import { readItemsInOrder } from '../read/select'
import type { Store } from '../read/store'

/** Maximum size of the values of the records of a part, before and after a write, in bytes. */
const partBytes = 4 * 1024 * 1024

/**
 * Maximum number of records of a part. Also short records take memory, and time: the driver better-sqlite3 is synchronous, and
 * other requests run only between the statements of two parts.
 */
const partRecords = 200

/** Query of {@link readItemsInOrder}. */
const query = { select: 'columns', cursor: undefined, ordering: [], included: [] } as const

/**
 * Divides the keys of locked records into parts, in their order, so that the records of one part can be in memory at the same
 * time. A larger record is a part of its own.
 * @param changes values that are written to each of the records
 */
export async function partsOf(
  session: DbSession,
  store: Store,
  keys: readonly unknown[],
  changes: ChangeSet,
): Promise<readonly (readonly unknown[])[]> {
  const written = jsonLength([...changes.values()])
  const count = Math.min(keys.length, partRecords)
  const isSmall = valueLimitFor(store, query, count, partBytes) === undefined
  if (keys.length < 2 || (isSmall && written * count <= partBytes)) return chunksOf(keys)
  // With this limit, the statement reads only the sizes of long values.
  const rows = await readItemsInOrder(session, store, keys, query.select, { condition: 'none', valueLimit: 0 })
  const { sizeOf } = measureOf(store, query, 0)
  const parts: unknown[][] = []
  let room = 0
  for (const [index, key] of keys.entries()) {
    const raw = rows[index]
    const size = written + (raw === undefined ? 0 : sizeOf(raw))
    if (size > room || parts.at(-1)?.length === partRecords) {
      parts.push([])
      room = partBytes
    }
    room -= size
    parts.at(-1)?.push(key)
  }
  return parts
}

/** Parts of {@link partRecords} keys. */
function chunksOf(keys: readonly unknown[]): readonly (readonly unknown[])[] {
  const parts: (readonly unknown[])[] = []
  for (let start = 0; start < keys.length; start += partRecords) parts.push(keys.slice(start, start + partRecords))
  return parts
}

/** Length of the JSON of a short value, with its separators. */
const shortLength = 8

/** The approximate length of the JSON of a value, in characters. */
export function jsonLength(value: unknown): number {
  if (typeof value === 'string') return value.length + shortLength
  if (typeof value !== 'object' || value === null) return shortLength
  if (ArrayBuffer.isView(value)) return 2 * value.byteLength
  let length = shortLength
  for (const name in value) length += name.length + jsonLength((value as Record<string, unknown>)[name])
  return length
}
