import type { DbTransaction } from '../connection/db-session'
import { type RawRow, runInTransaction } from '../connection/statement'
import { renderStored } from '../read/entity-tag'
import type { Store } from '../read/store'
import type { Writer, WrittenRecord } from './write-store'

/**
 * Returns a writer that runs each write in a transaction. The record is rendered in the same transaction, so that a
 * record that cannot be shown is not stored.
 */
export function inTransaction({ insert, update, remove }: Writer<DbTransaction, RawRow>): Writer {
  return {
    insert: (session, store, changes) =>
      runInTransaction(session, async (inner) => renderWritten(store, await insert(inner, store, changes))),
    update: (session, store, target, changes) =>
      runInTransaction(session, async (inner) => {
        const raw = await update(inner, store, target, changes)
        return raw && renderWritten(store, raw)
      }),
    remove: (session, store, target) => runInTransaction(session, (inner) => remove(inner, store, target)),
  }
}

/** Renders a written row as JSON and computes its ETag. */
export function renderWritten({ rawRenderer }: Store, raw: RawRow): WrittenRecord {
  return { raw, ...renderStored(rawRenderer, raw) }
}
