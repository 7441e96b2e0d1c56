import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import type { Session, Transaction } from './connection'
import { recordStoredRaw, type StoredRecord } from './entity-tag'
import { type RawRow, transact } from './statement'

/** A record that was written, as the driver hands it out and as it is shown. */
export interface Written extends StoredRecord {
  readonly raw: RawRow
}

/** A way to write one record. */
export interface Writer<In = Session, Out = Written> {
  readonly insert: (session: In, resource: Resource, changes: ChangeSet) => Promise<Out>
  /** @returns undefined when there is none for the target any more */
  readonly update: (session: In, resource: Resource, target: Target, changes: ChangeSet) => Promise<Out | undefined>
  /** @returns whether there was one for the target */
  readonly remove: (session: In, resource: Resource, target: Target) => Promise<boolean>
}

/** A way to write that takes a transaction for each record: what cannot be read and shown is not stored. */
export function inTransaction({ insert, update, remove }: Writer<Transaction, RawRow>): Writer {
  return {
    insert: (session, resource, changes) =>
      transact(session, async (inner) => renderWritten(inner, resource, await insert(inner, resource, changes))),
    update: (session, resource, target, changes) =>
      transact(session, async (inner) => {
        const raw = await update(inner, resource, target, changes)
        return raw && renderWritten(inner, resource, raw)
      }),
    remove: (session, resource, target) => transact(session, (inner) => remove(inner, resource, target)),
  }
}

export function renderWritten({ dataSource }: Session, resource: Resource, raw: RawRow): Written {
  return { raw, ...recordStoredRaw(resource, dataSource, raw) }
}
