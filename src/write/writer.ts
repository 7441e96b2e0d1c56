import type { DbSession, DbTransaction } from '../connection/db-session'
import { type RawRow, transact } from '../connection/statement'
import type { ChangeSet, WriteTarget } from '../query/query'
import { recordStoredRaw, type StoredRecord } from '../read/entity-tag'
import type { Resource } from '../schema/registry'

/** A record that was written, as the driver hands it out and as it is shown. */
export interface WrittenRecord extends StoredRecord {
  readonly raw: RawRow
}

/** A way to write one record. */
export interface Writer<In = DbSession, Out = WrittenRecord> {
  readonly insert: (session: In, resource: Resource, changes: ChangeSet) => Promise<Out>
  /** @returns undefined when there is none for the target any more */
  readonly update: (
    session: In,
    resource: Resource,
    target: WriteTarget,
    changes: ChangeSet,
  ) => Promise<Out | undefined>
  /** @returns whether there was one for the target */
  readonly remove: (session: In, resource: Resource, target: WriteTarget) => Promise<boolean>
}

/** A way to write that takes a transaction for each record: what cannot be read and shown is not stored. */
export function inTransaction({ insert, update, remove }: Writer<DbTransaction, RawRow>): Writer {
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

export function renderWritten({ dataSource }: DbSession, resource: Resource, raw: RawRow): WrittenRecord {
  return { raw, ...recordStoredRaw(resource, dataSource, raw) }
}
