import type { DbSession, DbTransaction } from '../../connection/db-session'
import { isInTransaction, runInSavepoint, runInTransaction, WriteError } from '../../connection/statement'
import { ApiError, FieldErrors, unavailable } from '../../errors'
import { afterLoad } from '../../read/after-load'
import { readWrittenItem } from '../../read/select'
import { ChangedError } from '../changed-error'
import { addExcludedErrors, requireNotExcluded } from '../excluded-values'
import { refuseWrite } from '../refuse-write'
import { renderWritten } from '../transactional-writer'
import { lostRecord } from '../values'
import { loadSaved } from '../write'
import type { WrittenRecord } from '../write-store'
import { lockPlanned } from './lock'
import { groupByStore, isChanged, type PlannedList, type PlannedRecord, recordsIn } from './planned'
import { refusalAt } from './refusal-at'
import { requireAllPermitted } from './require-permitted'
import { FailedWrite, type WrittenNode, writeTree } from './write-tree'

/**
 * Writes a record with its related records, in one transaction (specification: Nested writes).
 * @param maxRecords maximum number of stored related records that are compared with those of a body
 * @returns undefined if the record to update does not exist any more, has another owner, or the principal may not see it
 * or write it
 * @throws {ApiError} for every refusal
 * @throws {ChangedError} if other requests have changed related records since the write was planned
 */
export async function writeNested(
  session: DbSession,
  root: PlannedRecord,
  maxRecords: number,
): Promise<WrittenRecord | undefined> {
  const { store, change } = root
  requireNoneExcluded(root)
  const isPart = isInTransaction(session)
  const write = (inner: DbTransaction): Promise<WrittenRecord | undefined> =>
    lockAndWrite(inner, root, maxRecords, isPart)
  return runInTransaction(session, write, store.dialect.checkedWriteIsolation).catch((error: unknown) => {
    // COMMIT checks deferred constraints.
    if (!(error instanceof WriteError)) throw error
    const list = violatedList(root, error)
    if (list === undefined) return refuseWrite(error, session, store, change)
    return refuseWrite(error, session, list.store, change).catch((refusal: unknown) => {
      // It is not known which records of the list have the same values.
      throw refusalAt(refusal instanceof ApiError ? new ApiError(refusal.code, refusal.message) : refusal, list.path)
    })
  })
}

/** The related records whose entity declares the unique constraint that COMMIT has found to be violated, if there are any. */
function violatedList(root: PlannedRecord, { cause }: WriteError): PlannedList | undefined {
  const { constraint }: { constraint?: unknown } = Object(Object(cause).driverError)
  const lists = recordsIn(root).flatMap(({ members }) => members.filter((member) => member.type === 'list'))
  return lists.find(({ store }) => store.view.metadata.uniques.some(({ name }) => name === constraint))
}

/** Refuses values that the row scope or `may` excludes. @throws {ApiError} `forbidden` */
function requireNoneExcluded(root: PlannedRecord): void {
  requireNotExcluded(root.store, root.change)
  const errors = new FieldErrors()
  const related = recordsIn(root).filter((record) => record !== root && isChanged(record))
  for (const [store, records] of groupByStore(related)) {
    const checked = records.map(({ change, path }) => ({ change, errors: errors.within(path) }))
    addExcludedErrors(store, checked)
  }
  errors.raise('forbidden')
}

/** @param isPart whether the transaction has begun before */
async function lockAndWrite(
  session: DbTransaction,
  root: PlannedRecord,
  maxRecords: number,
  isPart: boolean,
): Promise<WrittenRecord | undefined> {
  const rows = await lockPlanned(session, root, maxRecords)
  if (rows === undefined) return undefined
  const write = async (inner: DbTransaction): Promise<WrittenRecord> => {
    const tree = await writeTree(inner, root, rows, maxRecords)
    await requireAllPermitted(inner, tree)
    for (const node of tree.nodes) if (node !== tree.root) await loadWritten(inner, node)
    return readRoot(inner, root, tree.root.key)
  }
  try {
    return await runInSavepoint(session, write)
  } catch (error) {
    // Only the caller that began the transaction can roll back its other writes.
    if (isPart && error instanceof ChangedError) throw unavailable('other requests change the same records; try again')
    if (!(error instanceof FailedWrite)) throw error
    return error.refuse(session).catch((refusal: unknown) => {
      throw refusalAt(refusal, error.path)
    })
  }
}

/** Calls the `@AfterLoad` listeners of a related record: a record that they refuse to show is not stored. */
async function loadWritten(session: DbTransaction, { record: { store }, raw }: WrittenNode): Promise<void> {
  const { view, selected } = store
  if (view.lifecycle.load && raw !== undefined) await afterLoad(session, view, [selected.columns.readRow(raw)])
}

/**
 * Reads the record when everything is written: listeners and triggers of related records may have changed it.
 * @throws {ApiError} `conflict` if the database has deleted it together with its related records (`ON DELETE CASCADE`)
 */
async function readRoot(session: DbTransaction, root: PlannedRecord, key: unknown): Promise<WrittenRecord> {
  const { store } = root
  const raw = await readWrittenItem(session, store, key)
  if (raw !== undefined) return loadSaved(session, store, renderWritten(store, raw))
  const members = recordsIn(root).flatMap((record) => record.members)
  const deletes = members.some((member) => member.type === 'list' && member.deletes.length > 0)
  if (!deletes) throw new Error(lostRecord(store.view))
  throw new ApiError('conflict', `this ${store.view.name} would be deleted with its related records`)
}
