import type { DbSession } from '../connection/db-session'
import { runInTransaction } from '../connection/statement'
import type { ChangeSet } from '../query/query'
import { type ColumnValue, newEntity } from '../read/entity'
import { splitColumnValues } from '../read/row'
import { hasRowConditions } from '../read/select'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import { insertEntities } from './insert-records'
import { lockTarget } from './lock-target'
import { requireReadable } from './readable'
import { isTable } from './returning'
import { renderWritten } from './transactional-writer'
import { executeDelete, executeInsert, executeRestore, executeUpdate } from './values'
import { executeDeletes, executeMatchingDelete, executeMatchingUpdate, executeUpdates } from './write-many'
import type { Writer, WriteTarget } from './write-store'

/**
 * Writes one record with one statement, for resources without write listeners and subscribers. If reading the written
 * record may fail, write and read are in one transaction, so that a record that cannot be shown is not stored.
 */
export const directWriter: Writer = {
  insert: (session, store, changes) => {
    const { view } = store
    const insert = async (inner: DbSession) =>
      renderWritten(store, await executeInsert(inner, store, newEntity(view, changes)))
    return isReturned(store, 'insert') ? insert(session) : runInTransaction(session, insert)
  },
  insertMany: (session, store, records) =>
    insertEntities(
      session,
      store,
      records,
      records.map(({ values }) => newEntity(store.view, values)),
    ),
  update: (session, store, target, changes) => {
    const update = async (inner: DbSession) => {
      const raw = await executeUpdate(inner, store, target, changedValues(changes))
      return raw && renderWritten(store, raw)
    }
    return writeTarget(session, store, target, !isReturned(store, 'update'), update, undefined)
  },
  updateMany: async (session, store, targets, changes) => {
    await executeUpdates(session, store, targets, changedValues(changes))
    await requireReadable(session, store, targets.keys, changes)
  },
  removeMany: executeDeletes,
  matching: {
    update: (session, store, query, changes) => executeMatchingUpdate(session, store, query, changedValues(changes)),
    remove: executeMatchingDelete,
  },
  remove: (session, store, target) =>
    writeTarget(session, store, target, false, (inner) => executeDelete(inner, store, target), false),
  restore: (session, store, target) => {
    const restore = async (inner: DbSession) => {
      const raw = await executeRestore(inner, store, target)
      return raw && renderWritten(store, raw)
    }
    return writeTarget(session, store, target, true, restore, undefined)
  },
}

/**
 * Locks the row, checks it and runs the write, in one transaction. If there is nothing to check, it only runs the write.
 * @param missing the result if there is no record for the target, or the principal may not see it or write it
 * @throws the refusal of the check
 */
function writeTarget<T>(
  session: DbSession,
  store: Store,
  target: WriteTarget,
  needsTransaction: boolean,
  write: (session: DbSession) => Promise<T>,
  missing: T,
): Promise<T> {
  const needsLock =
    target.requireUnchanged !== undefined || (!target.isLocked && hasRowConditions(store, target.action))
  if (!needsLock && !needsTransaction) return write(session)
  return runInTransaction(session, async (inner) => {
    if (needsLock && (await lockTarget(inner, store, target)) === undefined) return missing
    return write(inner)
  })
}

/**
 * Whether the statement returns the written record as it is shown. Otherwise another statement reads it, in one transaction
 * with the write: other requests must not change the record in between, and it must not be stored if it cannot be read.
 */
export function isReturned({ view, dataSource, dialect }: Store, statement: 'insert' | 'update'): boolean {
  return dialect.supportsReturning(dataSource, statement) && !mayFailToRead(view)
}

/**
 * Whether reading a written record may fail: a transformer may throw, and the expression of a virtual column is not part of
 * RETURNING but of a second statement, which may fail. For other columns, the value types must be able to render every value
 * that a driver returns with any options and type parsers.
 */
function mayFailToRead({ columns }: ResourceView): boolean {
  return !isTable(columns) || columns.some(({ valueColumn }) => valueColumn.transformer !== undefined)
}

/** Converts values by field into values by column. */
function changedValues(changes: ChangeSet): readonly ColumnValue[] {
  return [...changes].flatMap(([field, value]) => {
    const values = splitColumnValues(field, value)
    return field.columns.map(({ column }, index): ColumnValue => [column, values[index]])
  })
}
