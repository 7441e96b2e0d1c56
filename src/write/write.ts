import type { DbSession } from '../connection/db-session'
import { isInTransaction, runInSavepoint, runInTransaction } from '../connection/statement'
import { ApiError, FieldErrors } from '../errors'
import { afterLoad } from '../read/after-load'
import { fieldValue, type Row } from '../read/row'
import { existsItem, hasRowConditions } from '../read/select'
import type { Store } from '../read/store'
import { type Change, deletion } from './change'
import { requireNotExcluded } from './excluded-values'
import { refuseDelete, refuseWrite } from './refuse-write'
import type { WriteStore, WriteTarget, WrittenRecord } from './write-store'
import { checkCompletedReferences, needsCheck, refusalOf, requireVisibleReferences } from './written-checks'

/** Inserts one record. @throws {ApiError} `conflict`, `bad-values` */
export async function insertRow(session: DbSession, store: WriteStore, change: Change): Promise<WrittenRecord> {
  requireNotExcluded(store, change)
  const insert = async (inner: DbSession): Promise<WrittenRecord> => {
    const written = await store.writer.insert(inner, store, change.values)
    await requirePermitted(inner, store, change, written)
    return loadSaved(inner, store, written)
  }
  return runInTransactionIfNeeded(session, store, change, insert).catch((error: unknown) =>
    refuseWrite(error, session, store, change),
  )
}

/**
 * Updates one record.
 * @returns undefined if there is no record for the target any more
 * @throws {ApiError} `conflict`, `bad-values`, `precondition-failed`
 */
export async function updateRow(
  session: DbSession,
  store: WriteStore,
  target: WriteTarget,
  change: Change,
): Promise<WrittenRecord | undefined> {
  requireNotExcluded(store, change)
  const update = async (inner: DbSession): Promise<WrittenRecord | undefined> => {
    const written = await store.writer.update(inner, store, target, change.values)
    if (written === undefined) return undefined
    await requirePermitted(inner, store, change, written)
    return loadSaved(inner, store, written)
  }
  return runInTransactionIfNeeded(session, store, change, update).catch((error: unknown) =>
    refuseWrite(error, session, store, change),
  )
}

/**
 * Deletes one record.
 * @returns whether there was a record for the target
 * @throws {ApiError} `conflict`, `precondition-failed`
 */
export async function deleteRow(session: DbSession, store: WriteStore, target: WriteTarget): Promise<boolean> {
  const remove = (inner: DbSession): Promise<boolean> => store.writer.remove(inner, store, target)
  return runInTransactionIfNeeded(session, store, deletion, remove).catch((error: unknown) =>
    refuseDelete(error, store),
  )
}

/**
 * Restores one soft-deleted record.
 * @returns undefined if there is no deleted record for the target any more
 * @throws {ApiError} `conflict`, `forbidden`, `precondition-failed`
 */
export async function restoreRow(
  session: DbSession,
  store: WriteStore,
  target: WriteTarget,
): Promise<WrittenRecord | undefined> {
  const restore = async (inner: DbSession): Promise<WrittenRecord | undefined> => {
    const written = await store.writer.restore(inner, store, target)
    if (written === undefined) return undefined
    await requirePermitted(inner, store, restoration, written)
    return loadSaved(inner, store, written)
  }
  return runInTransactionIfNeeded(session, store, restoration, restore).catch((error: unknown) =>
    refuseWrite(error, session, store, restoration),
  )
}

const restoration: Change = { action: 'restore', values: new Map(), stored: undefined }

/**
 * Runs a write. If `@AfterLoad` listeners or checks of the written record follow it, all run in one transaction, so that
 * an error rolls the write back. In a transaction of its caller, it runs in a savepoint, because the reason of an error is
 * found by further statements.
 */
function runInTransactionIfNeeded<T>(
  session: DbSession,
  store: WriteStore,
  change: Change,
  write: (session: DbSession) => Promise<T>,
): Promise<T> {
  const { view, dialect } = store
  if (isInTransaction(session)) return runInSavepoint(session, write)
  if (needsCheck(store, change)) return runInTransaction(session, write, dialect.checkedWriteIsolation)
  return view.lifecycle.load ? runInTransaction(session, write) : write(session)
}

/**
 * Checks a written record: the principal must see it and the records to which its new references lead, and `may` must permit
 * its new values (specification: Row scopes, Permissions). The check runs after the write and in its transaction, so that a
 * right that was revoked before the write no longer applies.
 * @throws {ApiError} `forbidden`, `bad-values`
 */
async function requirePermitted(
  session: DbSession,
  store: WriteStore,
  change: Change,
  { raw }: WrittenRecord,
): Promise<void> {
  const { view, selected } = store
  const { action } = change
  if (!needsCheck(store, change)) return
  const errors = new FieldErrors()
  await checkCompletedReferences(session, store, [{ change, raw, errors }])
  await requireVisibleReferences(session, store, change, errors)
  if (!hasRowConditions(store, action)) return
  const key = fieldValue(view, selected.columns.readRow(raw), view.key)
  if (await existsItem(session, store, key, { action, state: 'after' })) return
  throw new ApiError('forbidden', refusalOf(change, view))
}

/** Calls the `@AfterLoad` listeners of a written record. */
export async function loadSaved(session: DbSession, store: Store, written: WrittenRecord): Promise<WrittenRecord> {
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
