import type { DbSession } from '../connection/db-session'
import { runInTransaction } from '../connection/statement'
import { ApiError, FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import { afterLoad } from '../read/after-load'
import { fieldValue, type Row } from '../read/row'
import { readRawItem } from '../read/select'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import { changesScopedReference, checkReferences, isScopedReference, type PendingWrite } from './references'
import { refuseDelete, refuseWrite } from './refuse-write'
import type { WriteStore, WriteTarget, WrittenRecord } from './write-store'

/** Inserts one record. @throws {ApiError} `conflict`, `bad-values` */
export async function insertRow(
  session: DbSession,
  store: WriteStore,
  changes: ChangeSet,
  presets?: ChangeSet,
): Promise<WrittenRecord> {
  const pending = { changes, stored: undefined, ...(presets && { presets }) }
  const insert = async (inner: DbSession): Promise<WrittenRecord> => {
    const written = await store.writer.insert(inner, store, changes)
    await requireVisible(inner, store, pending, written)
    return loadSaved(inner, store, written)
  }
  return runInTransactionIfNeeded(session, store, changes, insert).catch((error: unknown) =>
    refuseWrite(error, session, store, pending),
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
  const pending = { changes, stored }
  const update = async (inner: DbSession): Promise<WrittenRecord | undefined> => {
    const written = await store.writer.update(inner, store, target, changes)
    if (written === undefined) return undefined
    await requireVisible(inner, store, pending, written)
    return loadSaved(inner, store, written)
  }
  return runInTransactionIfNeeded(session, store, changes, update).catch((error: unknown) =>
    refuseWrite(error, session, store, pending),
  )
}

/**
 * Deletes one record.
 * @returns whether there was a record for the target
 * @throws {ApiError} `conflict`, `precondition-failed`
 */
export async function deleteRow(session: DbSession, store: WriteStore, target: WriteTarget): Promise<boolean> {
  const remove = (inner: DbSession): Promise<boolean> => store.writer.remove(inner, store, target)
  return runInTransactionIfNeeded(session, store, noChanges, remove).catch((error: unknown) =>
    refuseDelete(error, store),
  )
}

const noChanges: ChangeSet = new Map()

/**
 * Runs a write. If `@AfterLoad` listeners or a check of row scopes follow it, all run in one transaction, so that an error
 * rolls the write back.
 */
function runInTransactionIfNeeded<T>(
  session: DbSession,
  { view, dialect }: Store,
  changes: ChangeSet,
  write: (session: DbSession) => Promise<T>,
): Promise<T> {
  if (needsScopeCheck(view, changes)) return runInTransaction(session, write, dialect.scopeIsolation)
  return view.lifecycle.load ? runInTransaction(session, write) : write(session)
}

/** Whether a write changes a record of a resource with a row scope, or a reference to one. */
function needsScopeCheck(view: ResourceView, changes: ChangeSet): boolean {
  return view.rowScope !== undefined || changesScopedReference(view, changes)
}

/**
 * Requires that the principal may see a written record, and the records to which the request has made it refer
 * (specification: Row scopes). It runs after the write and in its transaction, so that a right that was revoked before
 * the write no longer counts.
 * @throws {ApiError} `forbidden`, `unauthorized` for an anonymous request, `bad-values`
 */
async function requireVisible(
  session: DbSession,
  store: Store,
  pending: PendingWrite,
  { raw }: WrittenRecord,
): Promise<void> {
  const { view, selected, rowScopes } = store
  if (!needsScopeCheck(view, pending.changes)) return
  const errors = new FieldErrors()
  await checkReferences(session, store, pending, errors, (field) => isScopedReference(view, field))
  errors.raise('bad-values')
  const key = fieldValue(view, selected.columns.readRow(raw), view.key)
  if ((await readRawItem(session, store, key)) !== undefined) return
  if (rowScopes?.principal.id === null) throw new ApiError('unauthorized', 'Authentication failed')
  throw new ApiError('forbidden', `the ${view.name} would be outside of the records that you may see`)
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
