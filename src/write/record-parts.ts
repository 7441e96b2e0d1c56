import type { DbSession } from '../connection/db-session'
import type { ChangeSet } from '../query/query'
import { measureOf, valueLimitFor } from '../read/measure'
import { readItemsInOrder } from '../read/select'
import type { Store } from '../read/store'

/** Maximum size of the values of the records of a part, before and after a write, in bytes. */
const partBytes = 4 * 1024 * 1024

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
  const written = textLength([...changes.values()])
  const isSmall = valueLimitFor(store, query, keys.length, partBytes) === undefined
  if (keys.length < 2 || (isSmall && written * keys.length <= partBytes)) return [keys]
  // With this limit, the statement reads only the sizes of long values.
  const rows = await readItemsInOrder(session, store, keys, query.select, { condition: 'none', valueLimit: 0 })
  const { sizeOf } = measureOf(store, query, 0)
  const parts: unknown[][] = []
  let room = 0
  for (const [index, key] of keys.entries()) {
    const raw = rows[index]
    const size = written + (raw === undefined ? 0 : sizeOf(raw))
    if (size > room) {
      parts.push([])
      room = partBytes
    }
    room -= size
    parts.at(-1)?.push(key)
  }
  return parts
}

/** The number of characters of all texts in values. */
export function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  for (const member of Object.values(value)) length += textLength(member)
  return length
}
