import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import type { Session, Transaction } from './connection'
import type { Row } from './row'
import { transact } from './statement'

/** A way to write one record. Rows come back as they are stored. */
export interface Writer<In = Session> {
  readonly insert: (session: In, resource: Resource, changes: ChangeSet) => Promise<Row>
  /** @returns undefined when there is none for the target any more */
  readonly update: (session: In, resource: Resource, target: Target, changes: ChangeSet) => Promise<Row | undefined>
  /** @returns whether there was one for the target */
  readonly remove: (session: In, resource: Resource, target: Target) => Promise<boolean>
}

/** A way to write that takes a transaction for each record. */
export function inTransaction({ insert, update, remove }: Writer<Transaction>): Writer {
  return {
    insert: (session, resource, changes) => transact(session, (inner) => insert(inner, resource, changes)),
    update: (session, resource, target, changes) =>
      transact(session, (inner) => update(inner, resource, target, changes)),
    remove: (session, resource, target) => transact(session, (inner) => remove(inner, resource, target)),
  }
}
