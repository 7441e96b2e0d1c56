import type { DbSession } from '../connection/db-session'
import { violationOf } from '../dialect/dialect-of'
import type { ItemCondition } from '../query/item-query'
import { keyId } from './row'
import { readItemsInOrder } from './select'
import type { Store } from './store'

/**
 * {@link keyId} of those of several records that exist and match a condition. There is no record with a key that the
 * database cannot read.
 */
export async function matchingIds(
  session: DbSession,
  store: Store,
  keys: readonly unknown[],
  condition: ItemCondition,
): Promise<ReadonlySet<string>> {
  const { view, dataSource } = store
  try {
    const rows = await readItemsInOrder(session, store, keys, 'key', { condition })
    return new Set(keys.flatMap((key, index) => (rows[index] === undefined ? [] : [keyId(view, key)])))
  } catch (error) {
    if (violationOf(error, dataSource, view.metadata) === undefined) throw error
    if (keys.length === 1) return new Set()
    const middle = keys.length >> 1
    const first = await matchingIds(session, store, keys.slice(0, middle), condition)
    return new Set([...first, ...(await matchingIds(session, store, keys.slice(middle), condition))])
  }
}
