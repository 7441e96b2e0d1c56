import type { ChangeEvent } from '../connection/change-events'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { isInTransaction, type RawRow, runInTransaction, WriteError } from '../connection/statement'
import { violationOf } from '../dialect/dialect-of'
import { ApiError } from '../errors'
import type { ChangeSet } from '../query/query'
import type { Store } from '../read/store'
import type { WriteAction } from '../schema/resource-view'
import type { Json } from '../value/value-type'
import { auditDeletions, auditedParts, auditedRows, changeEvent, differences } from './audited-changes'
import { ChangedError } from './changed-error'
import type { Writer } from './write-store'

/**
 * Returns a writer that calls another one, and records what it has written for change events (specification: Change events).
 * If there are listeners or an audit log, each write is in a transaction. Its commit publishes the changes, even if a
 * subscriber of TypeORM throws an error after the commit. The audit log stores the changes in the same transaction.
 */
export function recordingWriter(writer: Writer): Writer {
  const { insert, insertMany, update, updateMany, remove, removeMany, restore, matching, lockTable } = writer
  return {
    insert: (session, store, changes) =>
      recorded(session, store, {
        action: 'create',
        values: [changes],
        write: (inner) => insert(inner, store, changes),
        rows: ({ raw }) => [raw],
      }),
    insertMany: (session, store, records) =>
      recorded(session, store, {
        action: 'create',
        values: records.map(({ values }) => values),
        write: (inner) => insertMany(inner, store, records),
        rows: (rows) => rows,
      }),
    update: (session, store, target, changes) =>
      recorded(session, store, {
        action: 'update',
        keys: [target.key],
        values: [changes],
        lockTable,
        write: (inner) => update(inner, store, target, changes),
        rows: (written) => (written === undefined ? [] : [written.raw]),
      }),
    updateMany: async (session, store, targets, changes) => {
      for await (const keys of auditedParts(session, store, targets.keys, changes)) {
        await recorded(session, store, {
          action: 'update',
          keys,
          values: keys.map(() => changes),
          write: (inner) => updateMany(inner, store, { ...targets, keys }, changes),
        })
      }
    },
    remove: (session, store, target) =>
      recorded(session, store, {
        action: 'delete',
        keys: [target.key],
        lockTable,
        write: (inner) => remove(inner, store, target),
        isWritten: (removed) => removed,
      }),
    removeMany: (session, store, targets) =>
      recorded(session, store, {
        action: 'delete',
        keys: targets.keys,
        write: (inner) => removeMany(inner, store, targets),
      }),
    restore: (session, store, target) =>
      recorded(session, store, {
        action: 'restore',
        keys: [target.key],
        write: (inner) => restore(inner, store, target),
        rows: (written) => (written === undefined ? [] : [written.raw]),
      }),
    // Not used while changes are observed: such a statement does not return the keys of the records.
    ...(matching && { matching }),
    ...(lockTable && { lockTable }),
  }
}

/** A write of one or several records. */
interface RecordedWrite<T> {
  readonly action: WriteAction
  readonly write: (session: DbTransaction) => Promise<T>
  /** Keys of the records. Default: they are new. */
  readonly keys?: readonly unknown[]
  /** Locks what the write locks before the records, so that the records can be read before the write. */
  readonly lockTable?: Writer['lockTable'] | undefined
  /** Values to write, for each record. Default: none. */
  readonly values?: readonly ChangeSet[]
  /** The written rows. Default: the write returns none. */
  readonly rows?: (result: T) => readonly RawRow[]
  /** Whether the records of `keys` were written. Default: true. */
  readonly isWritten?: (result: T) => boolean
}

/** Runs a write, and records its changes if they are observed. */
function recorded<T>(session: DbSession, store: Store, recordedWrite: RecordedWrite<T>): Promise<T> {
  const { isObserved, needsTransaction } = session.observer
  // A write may need no transaction.
  if (!isObserved) return recordedWrite.write(session as DbTransaction)
  // A write with listeners needs one in any case.
  return needsTransaction || isInTransaction(session) || store.view.lifecycle.write
    ? runInTransaction(session, (inner) => writeAndRecord(inner, store, recordedWrite))
    : writeForLiveLists(session, store, recordedWrite)
}

/** Runs a write, and tells live lists about it when it is committed. */
async function writeForLiveLists<T>(session: DbSession, store: Store, recordedWrite: RecordedWrite<T>): Promise<T> {
  const { action, write, keys } = recordedWrite
  try {
    const result = await write(session as DbTransaction)
    const ids = writtenIds(store, recordedWrite, result)
    if (ids !== undefined) recordTable(session, store, action, ids)
    return result
  } catch (error) {
    // If the connection is lost, the write may have been committed.
    if (mayBeWritten(error, store)) recordTable(session, store, action, keys && idsOf(store, keys))
    throw error
  }
}

/** Whether a write that has failed may have been committed: unless it was refused, or violates a rule of the database. */
function mayBeWritten(error: unknown, { dataSource, view }: Store): boolean {
  if (error instanceof ApiError || error instanceof ChangedError) return false
  const cause = error instanceof WriteError ? error.cause : error
  return violationOf(cause, dataSource, view.metadata) === undefined
}

/** The ids of the written records, as records show them; undefined if nothing was written. */
function writtenIds<T>(
  store: Store,
  { keys = [], rows, isWritten = () => true }: RecordedWrite<T>,
  result: T,
): readonly Json[] | undefined {
  if (!isWritten(result)) return undefined
  return rows?.(result).map(store.renderKey) ?? idsOf(store, keys)
}

function idsOf({ view }: Store, keys: readonly unknown[]): readonly Json[] {
  return keys.map((key) => view.key.valueType.toJson(key))
}

/** Records the changes of records for the live lists. @param ids undefined if they are not known */
function recordTable(
  { observer, runner }: DbSession,
  { view }: Store,
  action: WriteAction,
  ids: readonly Json[] | undefined,
): void {
  if (ids?.length === 0) return
  const { tablePath: table, deleteDateColumn } = view.metadata
  const isDeletion = action === 'delete' && deleteDateColumn === undefined
  observer.recordTable(runner, { table, ids: ids?.map(String), isDeletion })
}

async function writeAndRecord<T>(session: DbTransaction, store: Store, recordedWrite: RecordedWrite<T>): Promise<T> {
  const { action, write, keys = [], values = [], rows, lockTable } = recordedWrite
  const { changes, observer } = session
  const { auditLog } = observer
  const isAuditedBefore = auditLog !== undefined && action === 'delete' && keys.length > 1
  if (isAuditedBefore) await auditDeletions(session, store, auditLog, keys)
  const lock = action === 'delete' ? 'delete' : 'update'
  const readsBefore = auditLog !== undefined && action !== 'restore' && !isAuditedBefore
  if (readsBefore) await lockTable?.(session, store)
  const before = readsBefore ? await auditedRows(session, store, keys, lock) : []
  const result = await write(session)
  const ids = writtenIds(store, recordedWrite, result)
  if (ids === undefined) return result
  const eventOf = (id: Json, index: number): ChangeEvent => changeEvent(session, store, action, id, values[index])
  if (observer.hasListeners) for (const [index, id] of ids.entries()) changes?.push(eventOf(id, index))
  recordTable(session, store, action, ids)
  if (auditLog === undefined || isAuditedBefore) return result
  const after = action === 'delete' ? [] : (rows?.(result) ?? (await auditedRows(session, store, keys, lock)))
  const changed = ids.map((_, index) => ({ before: before[index], after: after[index], values: values[index] }))
  const different = await differences(session, store, changed)
  const audited = ids.map((id, index) => ({ ...eventOf(id, index), changes: different[index] ?? {} }))
  await auditLog.insert(session, audited)
  return result
}
