import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import type { Store } from './store'

/** The write for which rows are locked. */
export type RowLock = 'update' | 'delete'

/**
 * Locks the rows of a SELECT until the transaction ends. If all requests share one connection, no lock is needed, because no other
 * request runs during the transaction.
 * @param tables aliases of the tables whose rows are locked. Default: all
 */
export function lockRows(
  { dialect: { sharesConnection, updateLock } }: Store,
  builder: SelectQueryBuilder<ObjectLiteral>,
  lock: RowLock,
  tables?: string[],
): SelectQueryBuilder<ObjectLiteral> {
  if (sharesConnection) return builder
  return builder.setLock(lock === 'update' ? updateLock : 'pessimistic_write', undefined, tables)
}
