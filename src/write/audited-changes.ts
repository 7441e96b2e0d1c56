import { isDeepStrictEqual } from 'node:util'
import type { AuditedChange, AuditLog, ChangeEvent } from '../connection/change-events'
import type { DbSession, DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { ChangeSet } from '../query/query'
import { readItemsInOrder } from '../read/select'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { WriteAction } from '../schema/resource-view'
import type { Json } from '../value/value-type'
import { partsOf } from './record-parts'
import { withPauses } from './with-pauses'

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
    const rows = await auditedRows(session, store, part)
    const audited = rows.map((raw, index) => ({
      ...changeEvent(session, store, 'delete', valueType.toJson(part[index])),
      changes: differences(store, raw, undefined),
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
  yield* withPauses(parts, 1)
}

/** The rows of records before or after a write, locked. Missing records are undefined. */
export function auditedRows(
  session: DbTransaction,
  store: Store,
  keys: readonly unknown[],
): Promise<readonly (RawRow | undefined)[]> {
  const locks = !store.dialect.sharesConnection
  return readItemsInOrder(session, store, keys, 'columns', { locks, condition: 'none' })
}

/** The fields of two rows of a record that are different. Hidden fields that were written are included without values. */
export function differences(
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
