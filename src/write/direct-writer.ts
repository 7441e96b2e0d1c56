import type { DbSession } from '../connection/db-session'
import { transact } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import type { ChangeSet, WriteTarget } from '../query/query'
import { type ColumnValue, newEntity } from '../read/entity'
import { splitColumnValues } from '../read/row'
import type { Resource } from '../schema/registry'
import { lockTarget } from './lock-target'
import { deleteValues, insertValues, isTable, updateValues } from './values'
import { renderWritten, type Writer } from './writer'

/**
 * Writes one record with one statement, for resources without write listeners and subscribers. If reading the written
 * record may fail, write and read are in one transaction, so that a record that cannot be shown is not stored.
 */
export const directWriter: Writer = {
  insert: (session, resource, changes) => {
    const { dataSource } = session
    const insert = async (inner: DbSession) =>
      renderWritten(inner, resource, await insertValues(inner, resource, newEntity(resource, changes)))
    const needsNoTransaction = dialectOf(dataSource).returning(dataSource, 'insert') && !mayFailToRead(resource)
    return needsNoTransaction ? insert(session) : transact(session, insert)
  },
  update: (session, resource, target, changes) => {
    const update = async (inner: DbSession) => {
      const raw = await updateValues(inner, resource, target, changedValues(changes))
      return raw && renderWritten(inner, resource, raw)
    }
    return writeIfMatch(session, resource, target, mayFailToRead(resource), update)
  },
  remove: (session, resource, target) =>
    writeIfMatch(session, resource, target, false, (inner) => deleteValues(inner, resource, target)),
}

/**
 * Checks `If-Match` on the locked row and runs the write, in one transaction. Without `If-Match` it only runs the
 * write.
 */
function writeIfMatch<T>(
  session: DbSession,
  resource: Resource,
  target: WriteTarget,
  needsTransaction: boolean,
  write: (session: DbSession) => Promise<T>,
): Promise<T> {
  if (target.ifMatch === undefined && !needsTransaction) return write(session)
  return transact(session, async (inner) => {
    // If there is no row for the target, the write does not find one either and reports it.
    if (target.ifMatch !== undefined) await lockTarget(inner, resource, target)
    return write(inner)
  })
}

/**
 * Whether reading a written record may fail: a transformer may throw, and the expression of a virtual column is not
 * part of RETURNING but of a second statement, which may fail. The value types of other columns must
 * render every value that a driver returns, whatever its options and type parsers are.
 */
export function mayFailToRead({ columns }: Resource): boolean {
  return !isTable(columns) || columns.some(({ valueColumn }) => valueColumn.transformer !== undefined)
}

/** Converts values by field into values by column. */
function changedValues(changes: ChangeSet): readonly ColumnValue[] {
  return [...changes].flatMap(([field, value]) => {
    const values = splitColumnValues(field, value)
    return field.columns.map(({ column }, index): ColumnValue => [column, values[index]])
  })
}
