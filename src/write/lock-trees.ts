import type { DbTransaction } from '../connection/db-session'
import type { WriteStore } from './write-store'

/**
 * Locks the trees that writes to some resources, and to their related records, may change. Called at the start of a transaction
 * that runs other statements before it writes to a tree. At the isolation level REPEATABLE READ, PostgreSQL takes the snapshot
 * of a transaction at its first statement, but not for LOCK TABLE. With an earlier snapshot, the transaction would not see the
 * moves that others commit while it waits for the lock, and would store wrong positions. On databases where these transactions
 * run at the isolation level READ COMMITTED, nothing is locked here.
 */
export async function lockTreesOf(session: DbTransaction, stores: readonly WriteStore[]): Promise<void> {
  const all = new Map<string, WriteStore>()
  for (const store of stores) if (store.dialect.checkedWriteIsolation === undefined) addWithRelated(store, all)
  // In the same order in every transaction, so that two transactions do not wait for each other.
  const sorted = [...all].toSorted(([one], [other]) => (one < other ? -1 : 1))
  for (const [, store] of sorted) await store.writer.lockTable?.(session, store)
}

function addWithRelated(store: WriteStore, all: Map<string, WriteStore>): void {
  const { view, writeStoreOf } = store
  if (all.has(view.name)) return
  all.set(view.name, store)
  for (const relation of view.nested().values()) {
    if (relation.type === 'list') addWithRelated(writeStoreOf(relation.target), all)
  }
}
