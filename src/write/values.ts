import { randomUUID } from 'node:crypto'
import type { DataSource, EntityMetadata, ObjectLiteral } from 'typeorm'
import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { executeWrite, type RawRow } from '../connection/statement'
import { type ColumnValue, columnValues, setPath } from '../read/entity'
import { sizeCondition } from '../read/measure'
import { buildRowReader, joinColumnValues, selection } from '../read/row'
import { readWrittenItem } from '../read/select'
import type { Store } from '../read/store'
import type { ColumnMetadata } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'
import type { ReadColumn } from '../schema/stored-column'
import { bindTarget, isOwnedBy, whereTarget } from './target-condition'
import { explicitDefaults, explicitOnUpdates, toValueSet } from './value-set'
import type { WriteTarget } from './write-store'

/**
 * Inserts one record.
 * @returns the stored row, from RETURNING where the database has it, otherwise from a second statement
 */
export async function executeInsert(session: DbSession, store: Store, entity: ObjectLiteral): Promise<RawRow> {
  const { view, dataSource, dialect } = store
  const { metadata, columns, key } = view
  const canReturn = dialect.supportsReturning(dataSource, 'insert')
  generateKey(dataSource, view, entity, canReturn)
  const returnedColumns = !canReturn ? [] : isTable(columns) ? columns : key.columns
  const { values, bind } = collectValues()
  const { toSet, shape } = toValueSet(store, insertedValues(metadata, entity), bind, 'insert')
  const defaults = explicitDefaults(store, entity)
  const defaultsKey = defaults.map(([{ propertyPath }, text]) => `\n${propertyPath} ${text}`)
  const cacheKey = shape === undefined ? undefined : `INSERT ${view.cacheKey}${shape}${defaultsKey.join('')}`
  const statement = cachedStatement(session, cacheKey, () => {
    const set = toSet()
    for (const [column, text] of defaults) setPath(set, column.propertyPath, () => text)
    const inserted = insertedColumns(metadata.columns)
    const builder = dataSource.createQueryBuilder().insert().into(metadata.target, inserted).values(set)
    return compile(dataSource, builder.updateEntity(false), values.length, returning(dataSource, returnedColumns))
  })
  const result = await executeWrite(session, statement, values)
  const [returnedRow] = result.records
  if (returnedColumns === columns && returnedRow !== undefined) return returnedRow
  const keyValues =
    returnedRow === undefined
      ? insertedKey(view, entity, result.raw)
      : buildRowReader(key.columns, dataSource)(returnedRow)
  const stored = await readWrittenItem(session, store, joinColumnValues(keyValues))
  if (stored === undefined) throw new Error(`INSERT into ${metadata.tableName} returned no row`)
  return stored
}

/** Updates one record. @returns the stored row; undefined if there is no record for the target */
export async function executeUpdate(
  session: DbSession,
  store: Store,
  target: WriteTarget,
  changed: readonly ColumnValue[],
): Promise<RawRow | undefined> {
  const { view, dataSource, dialect, selected } = store
  const { metadata, columns } = view
  const canReturn = isTable(columns) && dialect.supportsReturning(dataSource, 'update')
  const { values, bind } = collectValues()
  const { toSet, shape } = toValueSet(store, changed, bind, 'update')
  const placeholders = bindTarget(store, target, bind)
  const { maxBytes } = target
  const cacheKey = shape === undefined ? undefined : `UPDATE ${view.cacheKey} ${maxBytes}${shape}`
  const statement = cachedStatement(session, cacheKey, () => {
    const set = toSet()
    for (const [column, text] of explicitOnUpdates(store, changed)) setPath(set, column.propertyPath, () => text)
    const builder = dataSource
      .createQueryBuilder()
      .update(metadata.target)
      .set(set)
      .updateEntity(false)
      .where(whereTarget(store, placeholders))
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
  const statement = cachedStatement(session, `DELETE ${view.cacheKey}`, () => {
    const builder = dataSource.createQueryBuilder()
    const deletion = isSoft ? builder.softDelete().from(metadata.target) : builder.delete().from(metadata.target)
    return compile(
      dataSource,
      deletion.where(whereTarget(store, placeholders)),
      values.length,
      canReturn ? returning(dataSource, key.columns) : '',
    )
  })
  const { records, affected = 0 } = await executeWrite(session, statement, values)
  return canReturn ? records.length > 0 : affected > 0
}

/** Whether all columns are stored in the table: RETURNING cannot compute virtual columns. */
export function isTable(columns: readonly ReadColumn[]): boolean {
  return columns.every(({ column }) => !column.isVirtualProperty)
}

function returning(dataSource: DataSource, columns: readonly ReadColumn[]): string {
  const { driver } = dataSource
  const names = selection(dataSource, columns).map(([column, name]) => `${column} AS ${driver.escape(name)}`)
  return names.length === 0 ? '' : ` RETURNING ${names.join(', ')}`
}

/**
 * Properties that an INSERT sets. Generated columns (`asExpression`) are left out, because TypeORM would write a value
 * for them.
 * @returns undefined if there are no generated columns
 */
function insertedColumns(columns: readonly ColumnMetadata[]): string[] | undefined {
  if (columns.every((column) => column.asExpression === undefined)) return undefined
  return columns.filter((column) => column.isInsert && column.asExpression === undefined).map((one) => one.propertyPath)
}

/**
 * The values of an entity by column, with `undefined` for each column with a transformer whose property is not set.
 * Without this entry TypeORM would call the transformer when the statement is compiled, and the cached statement would
 * store the same result in each record.
 */
function insertedValues(metadata: EntityMetadata, entity: ObjectLiteral): readonly ColumnValue[] {
  const absent = metadata.columns.filter(
    (column) => isTransformed(column) && column.getEntityValue(entity) === undefined,
  )
  return [...columnValues(metadata, entity), ...absent.map((column): ColumnValue => [column, undefined])]
}

function isTransformed({ transformer, isInsert, isVirtualProperty, asExpression }: ColumnMetadata): boolean {
  return transformer !== undefined && isInsert && !isVirtualProperty && asExpression === undefined
}

/**
 * Generates UUIDs in the application if the database cannot, as TypeORM does.
 * @throws {Error} if the database generates a key that cannot be read after the INSERT. Without RETURNING, the driver
 * reports only auto-increment keys
 */
function generateKey(
  { driver }: DataSource,
  { metadata }: ResourceView,
  entity: ObjectLiteral,
  canReturn: boolean,
): void {
  for (const column of metadata.generatedColumns.filter((one) => one.getEntityValue(entity) === undefined)) {
    if (column.generationStrategy === 'uuid' && !driver.isUUIDGenerationSupported()) {
      column.setEntityValue(entity, randomUUID())
    } else if (!canReturn && column.isPrimary && column.generationStrategy !== 'increment') {
      throw new Error(`${metadata.name}.${column.propertyPath} is a key that the database generates but cannot return`)
    }
  }
}

function insertedKey({ key }: ResourceView, entity: ObjectLiteral, raw: unknown): readonly unknown[] {
  const { insertId } = Object(raw) as { readonly insertId?: unknown }
  return key.columns.map(({ column }) => column.getEntityValue(entity) ?? insertId)
}
