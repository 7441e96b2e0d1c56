import type { DbSession, DbTransaction } from '../connection/db-session'
import { type RawRow, transact } from '../connection/statement'
import type { ChangeSet, WriteTarget } from '../query/query'
import { renderStoredRaw, type StoredRecord } from '../read/entity-tag'
import type { Resource } from '../schema/registry'

/** A written record, as a raw row of the driver and as the JSON to respond with. The ETag is that of the stored row. */
export interface WrittenRecord extends StoredRecord {
  readonly raw: RawRow
}

/** Inserts, updates and deletes one record. */
export interface Writer<In = DbSession, Out = WrittenRecord> {
  readonly insert: (session: In, resource: Resource, changes: ChangeSet) => Promise<Out>
  /** @returns undefined if there is no record for the target any more */
  readonly update: (
    session: In,
    resource: Resource,
    target: WriteTarget,
    changes: ChangeSet,
  ) => Promise<Out | undefined>
  /** @returns whether there was a record for the target */
  readonly remove: (session: In, resource: Resource, target: WriteTarget) => Promise<boolean>
}

/**
 * Runs each write of a writer in a transaction, with the rendering of the record: a record that cannot be shown is not
 * stored.
 */
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

/** Renders a written row as JSON and computes its ETag. */
export function renderWritten({ dataSource }: DbSession, resource: Resource, raw: RawRow): WrittenRecord {
  return { raw, ...renderStoredRaw(resource, dataSource, raw) }
}
