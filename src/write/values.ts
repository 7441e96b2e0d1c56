import { randomUUID } from 'node:crypto'
import type { DataSource, ObjectLiteral } from 'typeorm'
import { compile, gather, statementOf } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { executeWrite, type RawRow } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import type { WriteTarget } from '../query/query'
import { type ColumnValue, columnValues, setPath } from '../read/entity'
import { sizeCondition } from '../read/measure'
import { fromValues, readerOf, selection } from '../read/row'
import { readRawItem } from '../read/select'
import type { ColumnMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import type { ReadColumn } from '../schema/stored-column'
import { bindTarget, isTarget, whereTarget } from './target-condition'
import { spelledDefaults, spelledUpdates, toValueSet } from './value-set'

/** Inserts one record. @returns it as it is stored: from the statement itself, where the database can return it */
export async function insertValues(session: DbSession, resource: Resource, entity: ObjectLiteral): Promise<RawRow> {
  const { dataSource } = session
  const { metadata, columns, key } = resource
  const canReturn = dialectOf(dataSource).returning(dataSource, 'insert')
  giveKey(dataSource, resource, entity, canReturn)
  const returned = !canReturn ? [] : isTable(columns) ? columns : key.columns
  const { values, bind } = gather()
  const { toSet, shape } = toValueSet(dataSource, columnValues(metadata, entity), bind)
  const defaults = spelledDefaults(dataSource, metadata, entity)
  const spelled = defaults.map(([{ propertyPath }, text]) => `\n${propertyPath} ${text}`)
  const cacheKey = shape === undefined ? undefined : `INSERT ${resource.name}${shape}${spelled.join('')}`
  const statement = statementOf(session, cacheKey, () => {
    const set = toSet()
    for (const [column, text] of defaults) setPath(set, column.propertyPath, () => text)
    const inserted = insertedColumns(metadata.columns)
    const builder = dataSource.createQueryBuilder().insert().into(metadata.target, inserted).values(set)
    return compile(dataSource, builder.updateEntity(false), values.length, returning(dataSource, returned))
  })
  const result = await executeWrite(session, statement, values)
  const [found] = result.records
  if (returned === columns && found !== undefined) return found
  const keyValues = found === undefined ? keyOf(resource, entity, result.raw) : readerOf(key.columns, dataSource)(found)
  const stored = await readRawItem(session, resource, fromValues(keyValues))
  if (stored === undefined) throw new Error(`INSERT into ${metadata.tableName} returned no row`)
  return stored
}

/** Updates one record. @returns it as it is stored; undefined when the target is gone */
export async function updateValues(
  session: DbSession,
  resource: Resource,
  target: WriteTarget,
  changed: readonly ColumnValue[],
): Promise<RawRow | undefined> {
  const { dataSource } = session
  const { metadata, columns } = resource
  const canReturn = isTable(columns) && dialectOf(dataSource).returning(dataSource, 'update')
  const { values, bind } = gather()
  const { toSet, shape } = toValueSet(dataSource, changed, bind)
  const placeholders = bindTarget(dataSource, resource, target, bind)
  const { maxBytes } = target
  const cacheKey = shape === undefined ? undefined : `UPDATE ${resource.name} ${maxBytes}${shape}`
  const statement = statementOf(session, cacheKey, () => {
    const set = toSet()
    for (const [column, text] of spelledUpdates(dataSource, metadata, changed))
      setPath(set, column.propertyPath, () => text)
    const builder = dataSource
      .createQueryBuilder()
      .update(metadata.target)
      .set(set)
      .updateEntity(false)
      .where(whereTarget(dataSource, resource, placeholders))
    const isShort = maxBytes === undefined ? undefined : sizeCondition(dataSource, columns, maxBytes)
    if (isShort !== undefined) builder.andWhere(isShort)
    return compile(dataSource, builder, values.length, canReturn ? returning(dataSource, columns) : '')
  })
  const { records, affected = 0 } = await executeWrite(session, statement, values)
  if (canReturn) return records[0]
  const stored = await readRawItem(session, resource, target.key)
  // A driver may count what has changed, not what matches: the record itself says whether it is the target still.
  if (stored === undefined) return undefined
  return affected > 0 || isTarget(resource, readerOf(columns, dataSource)(stored), target) ? stored : undefined
}

/** Deletes one record; one with a `@DeleteDateColumn` is marked. @returns whether there was one for the target */
export async function deleteValues(session: DbSession, resource: Resource, target: WriteTarget): Promise<boolean> {
  const { dataSource } = session
  const { metadata, key } = resource
  const isSoft = metadata.deleteDateColumn !== undefined
  const canReturn = dialectOf(dataSource).returning(dataSource, isSoft ? 'update' : 'delete')
  const { values, bind } = gather()
  const placeholders = bindTarget(dataSource, resource, target, bind)
  const statement = statementOf(session, `DELETE ${resource.name}`, () => {
    const builder = dataSource.createQueryBuilder()
    const deletion = isSoft ? builder.softDelete().from(metadata.target) : builder.delete().from(metadata.target)
    return compile(
      dataSource,
      deletion.where(whereTarget(dataSource, resource, placeholders)),
      values.length,
      canReturn ? returning(dataSource, key.columns) : '',
    )
  })
  const { records, affected = 0 } = await executeWrite(session, statement, values)
  return canReturn ? records.length > 0 : affected > 0
}

export function isTable(columns: readonly ReadColumn[]): boolean {
  return columns.every(({ column }) => !column.isVirtualProperty)
}

function returning(dataSource: DataSource, columns: readonly ReadColumn[]): string {
  const { driver } = dataSource
  const names = selection(dataSource, columns).map(([column, name]) => `${column} AS ${driver.escape(name)}`)
  return names.length === 0 ? '' : ` RETURNING ${names.join(', ')}`
}

/** What the database computes takes no value, and TypeORM would give it one. @returns undefined for all */
function insertedColumns(columns: readonly ColumnMetadata[]): string[] | undefined {
  if (columns.every((column) => column.asExpression === undefined)) return undefined
  return columns.filter((column) => column.isInsert && column.asExpression === undefined).map((one) => one.propertyPath)
}

/**
 * Gives a record the key that TypeORM would, which belongs to it alone. Where the database cannot say which one it has made, it
 * must be known before, or be counted up.
 */
function giveKey({ driver }: DataSource, { metadata }: Resource, entity: ObjectLiteral, canReturn: boolean): void {
  for (const column of metadata.generatedColumns.filter((one) => one.getEntityValue(entity) === undefined)) {
    if (column.generationStrategy === 'uuid' && !driver.isUUIDGenerationSupported()) {
      column.setEntityValue(entity, randomUUID())
    } else if (!canReturn && column.isPrimary && column.generationStrategy !== 'increment') {
      throw new Error(`${metadata.name}.${column.propertyPath} is a key that the database makes and cannot return`)
    }
  }
}

function keyOf({ key }: Resource, entity: ObjectLiteral, raw: unknown): readonly unknown[] {
  const { insertId } = Object(raw) as { readonly insertId?: unknown }
  return key.columns.map(({ column }) => column.getEntityValue(entity) ?? insertId)
}
