import { isDeepStrictEqual } from 'node:util'
import type { AuditedChange, AuditLog, ChangeEvent } from '../connection/change-events'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { mapWithPauses, pause } from '../connection/pauses'
import type { RawRow } from '../connection/statement'
import type { ChangeSet } from '../query/query'
import { toRecords } from '../read/after-load'
import type { JsonRecord } from '../read/record'
import type { RowLock } from '../read/row-lock'
import { readItemsInOrder } from '../read/select'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { WriteAction } from '../schema/resource-view'
import type { Json } from '../value/value-type'
import { partsOf } from './record-parts'

/** The event of a written record. @param values what was written. Default: nothing */
export function changeEvent(
  { principal = { id: null } }: DbSession,
  { view }: Store,
  action: WriteAction,
  id: Json,
  values: ChangeSet = new Map(),
): ChangeEvent {
  const fields = [...values.keys()].map(({ name }) => name)
  return { resource: view.name, action, id, principal, fields }
}

/**
 * Stores the entries of records that will be deleted, in parts. The records are deleted afterwards, by as few statements as
 * without an audit log, because they may refer to each other.
 */
export async function auditDeletions(
  session: DbTransaction,
  store: Store,
  auditLog: AuditLog<DbTransaction>,
  keys: readonly unknown[],
): Promise<void> {
  const { valueType } = store.view.key
  for await (const part of auditedParts(session, store, keys, new Map())) {
    const rows = await auditedRows(session, store, part, 'delete')
    const changed = rows.map((raw) => ({ before: raw, after: undefined }))
    const audited = (await differences(session, store, changed)).map((changes, index) => ({
      ...changeEvent(session, store, 'delete', valueType.toJson(part[index])),
      changes,
    }))
    await auditLog.insert(session, audited)
  }
}

/**
 * The keys of records, in parts that are written one after the other. An audit log needs the values of all records of a part,
 * which could otherwise take gigabytes of memory. Other requests run between two parts.
 */
export async function* auditedParts(
  session: DbSession,
  store: Store,
  keys: readonly unknown[],
  changes: ChangeSet,
): AsyncGenerator<readonly unknown[]> {
  const parts = session.observer.auditLog === undefined ? [keys] : await partsOf(session, store, keys, changes)
  for (const part of parts) {
    await pause(session)
    yield part
  }
}

/** The rows of records before or after a write, locked. Missing records are undefined. */
export function auditedRows(
  session: DbTransaction,
  store: Store,
  keys: readonly unknown[],
  lock: RowLock,
): Promise<readonly (RawRow | undefined)[]> {
  return readItemsInOrder(session, store, keys, 'columns', { lock, condition: 'none' })
}

/** The rows of a record before and after a write. A new record has none before, and a deleted one none after. */
interface ChangedRows {
  readonly before: RawRow | undefined
  readonly after: RawRow | undefined
  /** What was written. Default: nothing. */
  readonly values?: ChangeSet | undefined
}

/**
 * The fields that a write has changed, for each record. Stored values are compared, but the result has the values that records
 * show: `@AfterLoad` listeners may hide parts of them. Hidden fields that were written are included without values. Other
 * requests may run in between.
 */
export async function differences(
  session: DbSession,
  store: Store,
  changed: readonly ChangedRows[],
): Promise<readonly AuditedChange['changes'][]> {
  const rows = changed.flatMap(({ before, after }) => [before, after]).filter((raw) => raw !== undefined)
  const { view, rawRenderer } = store
  const storedRecords = await mapWithPauses(session, rows, rawRenderer.toRecord)
  const shownRecords = view.lifecycle.load ? await toRecords(session, store, rows) : storedRecords
  const stored = new Map(rows.map((raw, index) => [raw, storedRecords[index]]))
  const shown = new Map(rows.map((raw, index) => [raw, shownRecords[index]]))
  // By name: the prefix of a new API key is not the same object as the field of the view.
  const isShown = ({ name }: Field): boolean => view.outputFields.some((field) => field.name === name)
  return mapWithPauses(session, changed, ({ before, after, values = new Map() }) => {
    const [from, to] = [before && shown.get(before), after && shown.get(after)]
    const names = differentNames(before && stored.get(before), after && stored.get(after))
    names.delete(view.key.name)
    const hidden = [...values.keys()].filter((field) => !isShown(field))
    return Object.fromEntries([
      ...[...names].map((name) => [name, { ...(from && { from: from[name] }), ...(to && { to: to[name] }) }] as const),
      ...hidden.map(({ name }) => [name, {}] as const),
    ])
  })
}

/** The names of the fields whose values are different in two records. */
function differentNames(from: JsonRecord = {}, to: JsonRecord = {}): Set<string> {
  const names = [...Object.keys(from), ...Object.keys(to)]
  return new Set(names.filter((name) => !isDeepStrictEqual(from[name] ?? null, to[name] ?? null)))
}
