import type { DbSession, DbTransaction } from '../connection/db-session'
import { type RawRow, runInSavepoint, WriteError } from '../connection/statement'
import { ApiError, type FieldErrors } from '../errors'
import type { ListQuery } from '../query/query'
import { hasRowConditions, readItemsInOrder } from '../read/select'
import type { Store } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { type Change, deletion } from './change'
import { addExcludedErrors, requireNotExcluded } from './excluded-values'
import { mayBeUnreadable } from './readable'
import { refersToRestricted } from './reference-lookups'
import { checkManyReferences } from './references'
import { refuseDelete, refuseWrite } from './refuse-write'
import type { WriteStore, WriteTargets } from './write-store'
import { checkCompletedReferences, needsCheck, refusalOf, requireVisibleReferences } from './written-checks'

/** One of several records to insert: its change, and what receives its errors. */
export interface InsertedRecord {
  readonly change: Change
  readonly errors: FieldErrors
}

/**
 * Inserts several records in order, in the transaction of the session, which the caller rolls back if there are errors.
 * @param errors receives the errors of all records
 * @returns the stored rows
 * @throws {ApiError} `conflict`, `bad-values`, `forbidden`, with the errors of all records
 */
export async function insertRows(
  session: DbTransaction,
  store: WriteStore,
  records: readonly InsertedRecord[],
  errors: FieldErrors,
): Promise<readonly RawRow[]> {
  addExcludedErrors(store, records)
  errors.raise('forbidden')
  const rows = await store.writer.insertMany(
    session,
    store,
    records.map(({ change: { values, presets }, errors: own }) => ({ values, presets, errors: own })),
  )
  errors.raise('bad-values')
  if (records.some(({ change }) => needsCheck(store, change))) {
    await requireAllPermitted(session, store, records, rows, errors)
  }
  return rows
}

/** Checks several written records like `requirePermitted` in `write.ts`. */
async function requireAllPermitted(
  session: DbTransaction,
  store: WriteStore,
  records: readonly InsertedRecord[],
  rows: readonly RawRow[],
  errors: FieldErrors,
): Promise<void> {
  const { view } = store
  const written = records.map((record, index) => ({ ...record, raw: rows[index] }))
  await checkCompletedReferences(session, store, written)
  await checkManyReferences(session, store, records, (field) => refersToRestricted(store, field))
  errors.raise('bad-values')
  if (!hasRowConditions(store, 'create')) return
  const condition = { action: 'create', state: 'after' } as const
  const permitted = await readItemsInOrder(session, store, rows.map(store.readKey), 'key', { condition })
  for (const [index, { change, errors: own }] of records.entries()) {
    if (permitted[index] === undefined) own.addRefusal(new ApiError('forbidden', refusalOf(change, view)))
  }
  errors.raise('forbidden')
}

/**
 * Updates several locked records to the same values, in the transaction of the session.
 * @throws {ApiError} `conflict`, `bad-values`, `forbidden`
 */
export async function updateRows(
  session: DbTransaction,
  store: WriteStore,
  targets: WriteTargets,
  change: Change,
): Promise<void> {
  const { view } = store
  requireNotExcluded(store, change)
  await runInSavepoint(session, (inner) => store.writer.updateMany(inner, store, targets, change.values)).catch(
    (error: unknown) => refuseWrite(error, session, store, change),
  )
  if (!needsCheck(store, change)) return
  await requireVisibleReferences(session, store, change)
  if (!hasRowConditions(store, 'update')) return
  const condition = { action: 'update', state: 'after' } as const
  const permitted = await readItemsInOrder(session, store, targets.keys, 'key', { condition })
  if (permitted.includes(undefined)) throw new ApiError('forbidden', refusalOf(change, view))
}

/**
 * Updates the records that match a query by one statement, if nothing has to be checked for each record.
 * @returns the number of records; undefined if they have to be locked and checked first
 * @throws {ApiError} `conflict`, `bad-values`
 */
export async function updateMatching(
  session: DbTransaction,
  store: WriteStore,
  query: ListQuery,
  change: Change,
): Promise<number | undefined> {
  const { view, writer } = store
  const needsKeys = view.validate !== undefined || mayBeUnreadable(view, change.values)
  if (needsCheck(store, change) || needsKeys || !canMatch(session, store)) return undefined
  return runInSavepoint(session, (inner) =>
    Promise.resolve(writer.matching?.update(inner, store, query, change.values)),
  ).catch(async (error: unknown) => {
    await throwIfCausedByQuery(error, session, store, query)
    return refuseWrite(error, session, store, change)
  })
}

/** @throws the driver's error of a write if the database cannot read a value of the query */
async function throwIfCausedByQuery(error: unknown, session: DbSession, store: Store, query: ListQuery): Promise<void> {
  const cause = error instanceof WriteError ? error.cause : error
  if (await isCausedByQueryValue(cause, session, store, query)) throw cause
}

/** Deletes the records that match a query by one statement, like {@link updateMatching}. @throws {ApiError} `conflict` */
export async function deleteMatching(
  session: DbTransaction,
  store: WriteStore,
  query: ListQuery,
): Promise<number | undefined> {
  if (needsCheck(store, deletion) || !canMatch(session, store)) return undefined
  return runInSavepoint(session, (inner) => Promise.resolve(store.writer.matching?.remove(inner, store, query))).catch(
    async (error: unknown) => {
      await throwIfCausedByQuery(error, session, store, query)
      return refuseDelete(error, store)
    },
  )
}

/**
 * Whether one statement can write the records that match a query. It cannot if the owner of each record must be checked, or
 * if change events must contain the keys of the records.
 */
function canMatch({ observer }: DbSession, { view, dialect }: WriteStore): boolean {
  return dialect.writesBySubquery && view.owner === undefined && !observer.isObserved
}

/**
 * Deletes several locked records, in the transaction of the session.
 * @throws {ApiError} `conflict`, `forbidden`
 */
export async function deleteRows(session: DbTransaction, store: WriteStore, targets: WriteTargets): Promise<void> {
  await runInSavepoint(session, (inner) => store.writer.removeMany(inner, store, targets)).catch((error: unknown) =>
    refuseDelete(error, store),
  )
}
