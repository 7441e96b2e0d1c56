import type { DbSession } from '../connection/db-session'
import { transact } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import type { ChangeSet, WriteTarget } from '../query/query'
import { type ColumnValue, newEntity } from '../read/entity'
import { toValues } from '../read/row'
import type { Resource } from '../schema/registry'
import { lockTarget } from './lock-target'
import { deleteValues, insertValues, isTable, updateValues } from './values'
import { renderWritten, type Writer } from './writer'

/**
 * Writes where nobody listens: one statement. What cannot be read back and shown must not be stored: where that may be, a write is in a
 * transaction with its reading.
 */
export const directWriter: Writer = {
  insert: (session, resource, changes) => {
    const { dataSource } = session
    const insert = async (inner: DbSession) =>
      renderWritten(inner, resource, await insertValues(inner, resource, newEntity(resource, changes)))
    const isSafe = dialectOf(dataSource).returning(dataSource, 'insert') && !mayFailToRead(resource)
    return isSafe ? insert(session) : transact(session, insert)
  },
  update: (session, resource, target, changes) => {
    const update = async (inner: DbSession) => {
      const raw = await updateValues(inner, resource, target, changedValues(changes))
      return raw && renderWritten(inner, resource, raw)
    }
    return inState(session, resource, target, mayFailToRead(resource), update)
  },
  remove: (session, resource, target) =>
    inState(session, resource, target, false, (inner) => deleteValues(inner, resource, target)),
}

/** Writes a record only in the state that the client means, in one transaction with the check. */
function inState<T>(
  session: DbSession,
  resource: Resource,
  target: WriteTarget,
  needsTransaction: boolean,
  write: (session: DbSession) => Promise<T>,
): Promise<T> {
  if (target.ifMatch === undefined && !needsTransaction) return write(session)
  return transact(session, async (inner) => {
    // What the target misses, the write itself will find missing.
    if (target.ifMatch !== undefined) await lockTarget(inner, resource, target)
    return write(inner)
  })
}

/**
 * Whether a record that is written may not be readable afterwards: a transformer may throw, and a virtual column is computed by a
 * statement of its own, which can fail.
 */
export function mayFailToRead({ columns }: Resource): boolean {
  return !isTable(columns) || columns.some(({ valueColumn }) => valueColumn.transformer !== undefined)
}

/** Values by field as values by column. */
function changedValues(changes: ChangeSet): readonly ColumnValue[] {
  return [...changes].flatMap(([field, value]) => {
    const values = toValues(field, value)
    return field.columns.map(({ column }, index): ColumnValue => [column, values[index]])
  })
}
