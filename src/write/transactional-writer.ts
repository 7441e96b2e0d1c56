import type { DbTransaction } from '../connection/db-session'
import { pause } from '../connection/pauses'
import { type RawRow, runInTransaction } from '../connection/statement'
import { renderStored } from '../read/entity-tag'
import type { Store } from '../read/store'
import type { Writer, WrittenRecord } from './write-store'

/**
 * Returns a writer that runs each write in a transaction. The record is rendered in the same transaction, so that a
 * record that cannot be shown is not stored.
 */
export function inTransaction({
  insert,
  insertMany,
  update,
  remove,
  restore,
}: Pick<Writer<DbTransaction, RawRow>, 'insert' | 'insertMany' | 'update' | 'remove' | 'restore'>): Writer {
  return {
    insertMany,
    ...oneByOne({ update, remove }),
    insert: (session, store, changes) =>
      runInTransaction(session, async (inner) => renderWritten(store, await insert(inner, store, changes))),
    update: (session, store, target, changes) =>
      runInTransaction(session, async (inner) => {
        const raw = await update(inner, store, target, changes)
        return raw && renderWritten(store, raw)
      }),
    remove: (session, store, target) => runInTransaction(session, (inner) => remove(inner, store, target)),
    restore: (session, store, target) =>
      runInTransaction(session, async (inner) => {
        const raw = await restore(inner, store, target)
        return raw && renderWritten(store, raw)
      }),
  }
}

/** Writes several records one after the other, for writers that call listeners for each of them. */
export function oneByOne({
  update,
  remove,
}: Pick<Writer<DbTransaction, unknown>, 'update' | 'remove'>): Pick<Writer, 'updateMany' | 'removeMany'> {
  return {
    updateMany: async (session, store, { keys, owner }, changes) => {
      for (const key of keys) {
        await pause(session)
        const target = { action: 'update', key, owner, requireUnchanged: undefined, isLocked: true } as const
        await update(session, store, target, changes)
      }
    },
    removeMany: async (session, store, { keys, owner }) => {
      for (const key of keys) {
        await pause(session)
        const target = { action: 'delete', key, owner, requireUnchanged: undefined, isLocked: true } as const
        await remove(session, store, target)
      }
    },
  }
}

/** Renders a written row as JSON and computes its ETag. */
export function renderWritten({ rawRenderer }: Store, raw: RawRow): WrittenRecord {
  return { raw, ...renderStored(rawRenderer, raw) }
}
