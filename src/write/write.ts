import type { DbSession } from '../connection/db-session'
import { runInTransaction } from '../connection/statement'
import type { ChangeSet } from '../query/query'
import { afterLoad } from '../read/after-load'
import type { Row } from '../read/row'
import type { Store } from '../read/store'
import { refuseDelete, refuseWrite } from './refuse-write'
import type { WriteStore, WriteTarget, WrittenRecord } from './write-store'

/** Inserts one record. @throws {ApiError} `conflict`, `bad-values` */
export async function insertRow(session: DbSession, store: WriteStore, changes: ChangeSet): Promise<WrittenRecord> {
  const insert = async (inner: DbSession): Promise<WrittenRecord> =>
    loadSaved(inner, store, await store.writer.insert(inner, store, changes))
  return runInTransactionIfLoaded(session, store, insert).catch((error: unknown) =>
    refuseWrite(error, session, store, { changes, stored: undefined }),
  )
}

/**
 * Updates one record.
 * @param stored the record before the write
 * @returns undefined if there is no record for the target any more
 * @throws {ApiError} `conflict`, `bad-values`, `precondition-failed`
 */
export async function updateRow(
  session: DbSession,
  store: WriteStore,
  target: WriteTarget,
  changes: ChangeSet,
  stored: Row,
): Promise<WrittenRecord | undefined> {
  const update = async (inner: DbSession): Promise<WrittenRecord | undefined> => {
    const written = await store.writer.update(inner, store, target, changes)
    return written && loadSaved(inner, store, written)
  }
  return runInTransactionIfLoaded(session, store, update).catch((error: unknown) =>
    refuseWrite(error, session, store, { changes, stored }),
  )
}

/**
 * Deletes one record.
 * @returns whether there was a record for the target
 * @throws {ApiError} `conflict`, `precondition-failed`
 */
export async function deleteRow(session: DbSession, store: WriteStore, target: WriteTarget): Promise<boolean> {
  return store.writer.remove(session, store, target).catch((error: unknown) => refuseDelete(error, store))
}

/**
 * Runs a write. If the entity has `@AfterLoad` listeners, the write, the listeners and the rendering of the response
 * run in one transaction, so that an error in one of them rolls the write back.
 */
function runInTransactionIfLoaded<T>(
  session: DbSession,
  { view }: Store,
  write: (session: DbSession) => Promise<T>,
): Promise<T> {
  return view.lifecycle.load ? runInTransaction(session, write) : write(session)
}

async function loadSaved(session: DbSession, store: Store, written: WrittenRecord): Promise<WrittenRecord> {
  const { view, selected } = store
  if (!view.lifecycle.load) return written
  const row = selected.columns.readRow(written.raw)
  const [shown = row] = await afterLoad(session, view, [row])
  return renderAfterLoad(store, written, shown)
}

/** Replaces the JSON of a record by that of the row after `@AfterLoad`. The ETag remains that of the stored row. */
export function renderAfterLoad({ rowRenderer }: Store, written: WrittenRecord, shown: Row): WrittenRecord {
  return { ...written, json: JSON.stringify(rowRenderer.toRecord(shown)) }
}
