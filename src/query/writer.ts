import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import type { Session, Transaction } from './connection'
import { readerOf } from './row'
import { type RawRow, transact } from './statement'

/** A way to write one record. Rows come back as they are stored, and as the driver hands them out. */
export interface Writer<In = Session> {
  readonly insert: (session: In, resource: Resource, changes: ChangeSet) => Promise<RawRow>
  /** @returns undefined when there is none for the target any more */
  readonly update: (session: In, resource: Resource, target: Target, changes: ChangeSet) => Promise<RawRow | undefined>
  /** @returns whether there was one for the target */
  readonly remove: (session: In, resource: Resource, target: Target) => Promise<boolean>
}

/** A way to write that takes a transaction for each record. */
export function inTransaction({ insert, update, remove }: Writer<Transaction>): Writer {
  return {
    insert: (session, resource, changes) =>
      transact(session, async (inner) => readable(inner, resource, await insert(inner, resource, changes))),
    update: (session, resource, target, changes) =>
      transact(session, async (inner) => readable(inner, resource, await update(inner, resource, target, changes))),
    remove: (session, resource, target) => transact(session, (inner) => remove(inner, resource, target)),
  }
}

/** Reads what was written while it can still be taken back: what a transformer cannot read must not be stored. */
export function readable<T extends RawRow | undefined>({ dataSource }: Session, { row }: Resource, written: T): T {
  if (written !== undefined) readerOf(row, dataSource)(written)
  return written
}
