import type { ObjectLiteral, UpdateQueryBuilder } from 'typeorm'
import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { executeWrite, type RawRow } from '../connection/statement'
import { type ColumnValue, setPath } from '../read/entity'
import { sizeCondition } from '../read/measure'
import { buildRowReader, joinColumnValues } from '../read/row'
import { readWrittenItem } from '../read/select'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import { insertBuilder, insertedKey, insertValuesOf, returnedColumnsOf } from './insert-values'
import { isTable, returning } from './returning'
import { bindTarget, isOwnedBy, whereTarget } from './target-condition'
import { explicitOnUpdates, toValueSet } from './value-set'
import type { WriteTarget } from './write-store'

/**
 * Inserts one record.
 * @returns the stored row, from RETURNING where the database has it, otherwise from a second statement
 */
export async function executeInsert(session: DbSession, store: Store, entity: ObjectLiteral): Promise<RawRow> {
  const { view, dataSource } = store
  const { metadata, columns, key } = view
  const returnedColumns = returnedColumnsOf(store)
  const { values, toSet, shape } = insertValuesOf(store, entity)
  const cacheKey = shape === undefined ? undefined : `INSERT ${view.cacheKey}${shape}`
  const statement = cachedStatement(session, cacheKey, () =>
    compile(dataSource, insertBuilder(store, [toSet()]), values.length, returning(dataSource, returnedColumns)),
  )
  const result = await executeWrite(session, statement, values)
  const [returnedRow] = result.records
  if (returnedColumns === columns && returnedRow !== undefined) return returnedRow
  const keyValues =
    returnedRow === undefined
      ? insertedKey(dataSource, key.columns, entity, insertIdOf(result.raw))
      : buildRowReader(key.columns, dataSource)(returnedRow)
  const stored = await readWrittenItem(session, store, joinColumnValues(keyValues))
  if (stored === undefined) throw new Error(`INSERT into ${metadata.tableName} returned no row`)
  return stored
}

/** The key of the first inserted row, as the driver of MySQL and MariaDB reports it. */
export function insertIdOf(raw: unknown): unknown {
  return (Object(raw) as { readonly insertId?: unknown }).insertId
}

/** Builds an UPDATE without WHERE. @param toSet returns the values of `changed` as a new object, see {@link toValueSet} */
export function updateBuilder(
  store: Store,
  toSet: () => ObjectLiteral,
  changed: readonly ColumnValue[],
): UpdateQueryBuilder<ObjectLiteral> {
  const set = toSet()
  for (const [column, text] of explicitOnUpdates(store, changed)) setPath(set, column.propertyPath, () => text)
  return store.dataSource.createQueryBuilder().update(store.view.metadata.target).set(set).updateEntity(false)
}

/** Builds a DELETE without WHERE, or the UPDATE of a soft deletion if the entity has a `@DeleteDateColumn`. */
export function deleteBuilder({ view: { metadata }, dataSource }: Store) {
  const builder = dataSource.createQueryBuilder()
  return metadata.deleteDateColumn === undefined
    ? builder.delete().from(metadata.target)
    : builder.softDelete().from(metadata.target)
}

/** Updates one record. @returns the stored row; undefined if there is no record for the target */
export async function executeUpdate(
  session: DbSession,
  store: Store,
  target: WriteTarget,
  changed: readonly ColumnValue[],
): Promise<RawRow | undefined> {
  const { view, dataSource, dialect, selected } = store
  const { columns } = view
  const canReturn = isTable(columns) && dialect.supportsReturning(dataSource, 'update')
  const { values, bind } = collectValues()
  const { toSet, shape } = toValueSet(store, changed, bind, 'update')
  const placeholders = bindTarget(store, target, bind)
  const { maxBytes } = target
  const cacheKey = shape === undefined ? undefined : `UPDATE ${view.cacheKey} ${maxBytes}${shape}`
  const statement = cachedStatement(session, cacheKey, () => {
    const builder = updateBuilder(store, toSet, changed).where(whereTarget(store, placeholders))
    const sizeLimit = maxBytes === undefined ? undefined : sizeCondition(store, selected.columns, maxBytes)
    if (sizeLimit !== undefined) builder.andWhere(sizeLimit)
    return compile(dataSource, builder, values.length, canReturn ? returning(dataSource, columns) : '')
  })
  const { records, affected = 0 } = await executeWrite(session, statement, values)
  if (canReturn) return records[0]
  const stored = await readWrittenItem(session, store, target.key)
  // A driver may count only rows whose values have changed. If it reports 0 affected rows, the owner of the stored
  // record decides whether it matched the target.
  if (stored === undefined) {
    // In a transaction no other request can have deleted the record: the write is rolled back, because its result can be
    // neither checked nor shown.
    if (affected > 0 && session.runner !== undefined) throw new Error(lostRecord(view))
    return undefined
  }
  return affected > 0 || isOwnedBy(view, selected.columns.readRow(stored), target.owner) ? stored : undefined
}

/** Message for a record that a listener or a trigger has made unreadable by its key in an update. */
export function lostRecord({ name }: ResourceView): string {
  return `after its update, the ${name} cannot be read: a listener or trigger has deleted it or changed its key`
}

/**
 * Deletes one record, softly if its entity has a `@DeleteDateColumn`.
 * @returns whether there was a record for the target
 */
export async function executeDelete(session: DbSession, store: Store, target: WriteTarget): Promise<boolean> {
  const { view, dataSource, dialect } = store
  const { metadata, key } = view
  const isSoft = metadata.deleteDateColumn !== undefined
  const canReturn = dialect.supportsReturning(dataSource, isSoft ? 'update' : 'delete')
  const { values, bind } = collectValues()
  const placeholders = bindTarget(store, target, bind)
  const statement = cachedStatement(session, `DELETE ${view.cacheKey}`, () =>
    compile(
      dataSource,
      deleteBuilder(store).where(whereTarget(store, placeholders)),
      values.length,
      canReturn ? returning(dataSource, key.columns) : '',
    ),
  )
  const { records, affected = 0 } = await executeWrite(session, statement, values)
  return canReturn ? records.length > 0 : affected > 0
}

/** Restores one soft-deleted record. @returns the stored row; undefined if there is no deleted record for the target */
export async function executeRestore(
  session: DbSession,
  store: Store,
  target: WriteTarget,
): Promise<RawRow | undefined> {
  const { view, dataSource, dialect } = store
  const { metadata, columns } = view
  const canReturn = isTable(columns) && dialect.supportsReturning(dataSource, 'update')
  const { values, bind } = collectValues()
  const placeholders = bindTarget(store, target, bind)
  const statement = cachedStatement(session, `RESTORE ${view.cacheKey}`, () => {
    const builder = dataSource.createQueryBuilder().restore().from(metadata.target)
    return compile(
      dataSource,
      builder.where(whereTarget(store, placeholders, true)),
      values.length,
      canReturn ? returning(dataSource, columns) : '',
    )
  })
  const { records, affected = 0 } = await executeWrite(session, statement, values)
  if (canReturn) return records[0]
  return affected > 0 ? readWrittenItem(session, store, target.key) : undefined
}
