import type { ChangeSet } from '../plan/plan'
import type { Resource } from '../schema/registry'
import { type ColumnValue, newEntity } from './entity'
import { toValues } from './row'
import { type Session, transact } from './statement'
import { deleteValues, insertValues, updateValues } from './values'
import type { Writer } from './writer'

/** Writes where nobody listens: one statement. */
export const plain: Writer = {
  insert: (session, resource, changes) =>
    whole(session, resource, (inner) => insertValues(inner, resource, newEntity(resource, changes))),
  update: (session, resource, target, changes) =>
    whole(session, resource, (inner) => updateValues(inner, resource, target, changedValues(changes))),
  remove: deleteValues,
}

/** What cannot be read back has not been stored: where that may be, a write is in a transaction with its reading. */
function whole<T>(session: Session, { row }: Resource, work: (session: Session) => Promise<T>): Promise<T> {
  const isDoubtful = row.some(({ valueColumn }) => valueColumn.transformer !== undefined)
  return isDoubtful ? transact(session, work) : work(session)
}

/** Values by field as values by column. */
function changedValues(changes: ChangeSet): readonly ColumnValue[] {
  return [...changes].flatMap(([field, value]) => {
    const values = toValues(field, value)
    return field.columns.map(({ column }, index): ColumnValue => [column, values[index]])
  })
}
