import { isDeepStrictEqual } from 'node:util'
import type { AuditedChange, AuditLog, ChangeEvent } from '../connection/change-events'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { isInTransaction, type RawRow, runInTransaction, WriteError } from '../connection/statement'
import { violationOf } from '../dialect/dialect-of'
import { ApiError } from '../errors'
import type { ChangeSet } from '../query/query'
import { readItemsInOrder } from '../read/select'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { WriteAction } from '../schema/resource-view'
import type { Json } from '../value/value-type'
import { ChangedError } from './changed-error'
import { partsOf } from './record-parts'
import { withPauses } from './with-pauses'
import type { Writer } from './write-store'

/**
 * Returns a writer that calls another one, and records what it has written for change events (specification: Change events).
 * If there are listeners or an audit log, each write is in a transaction. Its commit publishes the changes, even if a
 * subscriber of TypeORM throws an error after the commit. The audit log stores the changes in the same transaction.
 */
export function recordingWriter(writer: Writer): Writer {
  const { insert, insertMany, update, updateMany, remove, removeMany, restore, matching } = writer
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
  }
}

/** A write of one or several records. */
interface RecordedWrite<T> {
  readonly action: WriteAction
  readonly write: (session: DbTransaction) => Promise<T>
  /** Keys of the records. Default: they are new. */
  readonly keys?: readonly unknown[]
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
  const { action, write, keys = [], values = [], rows } = recordedWrite
  const { changes, observer, principal = { id: null } } = session
  const { auditLog } = observer
  const isAuditedBefore = auditLog !== undefined && action === 'delete' && keys.length > 1
  if (isAuditedBefore) await auditDeletions(session, store, auditLog, keys)
  const readsBefore = auditLog !== undefined && action !== 'restore' && !isAuditedBefore
  const before = readsBefore ? await readRows(session, store, keys) : []
  const result = await write(session)
  const ids = writtenIds(store, recordedWrite, result)
  if (ids === undefined) return result
  const events = ids.map((id, index): ChangeEvent => {
    const fields = [...(values[index]?.keys() ?? [])].map(({ name }) => name)
    return { resource: store.view.name, action, id, principal, fields }
  })
  changes?.push(...events)
  recordTable(session, store, action, ids)
  if (auditLog === undefined || isAuditedBefore) return result
  const after = action === 'delete' ? [] : (rows?.(result) ?? (await readRows(session, store, keys)))
  const audited = events.map((event, index) => ({
    ...event,
    changes: differences(store, before[index], after[index], values[index]),
  }))
  await auditLog.insert(session, audited)
  return result
}

/**
 * Stores the entries of records that will be deleted, in parts. The records are deleted afterwards, by as few statements as
 * without an audit log, because they may refer to each other.
 */
async function auditDeletions(
  session: DbTransaction,
  store: Store,
  auditLog: AuditLog<DbTransaction>,
  keys: readonly unknown[],
): Promise<void> {
  const { principal = { id: null } } = session
  const { name: resource } = store.view
  for await (const part of auditedParts(session, store, keys, new Map())) {
    const rows = await readRows(session, store, part)
    const ids = idsOf(store, part)
    const audited = rows.map((raw, index) => {
      const id = ids[index] ?? null
      const changes = differences(store, raw, undefined, undefined)
      return { resource, action: 'delete' as const, id, principal, fields: [], changes }
    })
    await auditLog.insert(session, audited)
  }
}

/**
 * The keys of records, in parts that are written one after the other. An audit log needs the values of all records of a part,
 * which could otherwise take gigabytes of memory. Other requests run between two parts.
 */
async function* auditedParts(
  session: DbSession,
  store: Store,
  keys: readonly unknown[],
  changes: ChangeSet,
): AsyncGenerator<readonly unknown[]> {
  const parts = session.observer.auditLog === undefined ? [keys] : await partsOf(session, store, keys, changes)
  yield* withPauses(parts, 1)
}

function readRows(
  session: DbTransaction,
  store: Store,
  keys: readonly unknown[],
): Promise<readonly (RawRow | undefined)[]> {
  const locks = !store.dialect.sharesConnection
  return readItemsInOrder(session, store, keys, 'columns', { locks, condition: 'none' })
}

/** The fields of two rows of a record that are different. Hidden fields that were written are included without values. */
function differences(
  { view, rawRenderer }: Store,
  before: RawRow | undefined,
  after: RawRow | undefined,
  values: ChangeSet = new Map(),
): AuditedChange['changes'] {
  const from = before && rawRenderer.toRecord(before)
  const to = after && rawRenderer.toRecord(after)
  const names = new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})])
  names.delete(view.key.name)
  const shown = [...names]
    .filter((name) => !isDeepStrictEqual(from?.[name] ?? null, to?.[name] ?? null))
    .map((name) => [name, { ...(from && { from: from[name] }), ...(to && { to: to[name] }) }] as const)
  // The prefix of a new API key is not the same object as the field of the view.
  const isShown = ({ name }: Field): boolean => view.outputFields.some((field) => field.name === name)
  const hidden = [...values.keys()].filter((field) => !isShown(field))
  return Object.fromEntries([...shown, ...hidden.map(({ name }) => [name, {}] as const)])
}
