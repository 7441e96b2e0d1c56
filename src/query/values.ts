import { randomUUID } from 'node:crypto'
import type { DataSource, ObjectLiteral, WhereExpressionBuilder } from 'typeorm'
import type { Target } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { ColumnMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { endOfReferences, type ReadColumn, type StoredColumn } from '../schema/stored-column'
import type { Session } from './connection'
import { dialectOf } from './dialect-of'
import { type ColumnValue, columnValues, setPath } from './entity'
import { columnSql, fieldValue, fromValues, hydrate, type Row, selection, toParameter, toValues } from './row'
import { readRows } from './select'
import { executeWrite } from './statement'

/** Inserts one record. @returns it as it is stored: from the statement itself, where the database can return it */
export async function insertValues(session: Session, resource: Resource, entity: ObjectLiteral): Promise<Row> {
  const { dataSource } = session
  const { metadata, row, key } = resource
  const canReturn = dialectOf(dataSource).returning(dataSource, 'insert')
  if (!canReturn) requireKey(dataSource, resource, entity)
  const builder = dataSource
    .createQueryBuilder()
    .insert()
    .into(metadata.target, insertedColumns(metadata.columns))
    .values(toValueSet(dataSource, columnValues(metadata, entity)))
    .updateEntity(false)
  const returned = !canReturn ? [] : isTable(row) ? row : key.columns
  const result = await executeWrite(session, builder, returning(dataSource, returned))
  const [found] = result.rows
  if (returned === row && found !== undefined) return hydrate(dataSource, row, found)
  const keyValues = found === undefined ? keyOf(resource, entity, result.raw) : hydrate(dataSource, key.columns, found)
  const [stored] = await readRows(session, planItem(resource, fromValues(keyValues)))
  if (stored === undefined) throw new Error(`INSERT into ${metadata.tableName} returned no row`)
  return stored
}

/** Updates one record. @returns it as it is stored; undefined when the target is gone */
export async function updateValues(
  session: Session,
  resource: Resource,
  target: Target,
  values: readonly ColumnValue[],
): Promise<Row | undefined> {
  const { dataSource } = session
  const { metadata, row } = resource
  const builder = dataSource
    .createQueryBuilder()
    .update(metadata.target)
    .set(toValueSet(dataSource, values))
    .updateEntity(false)
  whereTarget(dataSource, builder, resource, target)
  if (isTable(row) && dialectOf(dataSource).returning(dataSource, 'update')) {
    const { rows } = await executeWrite(session, builder, returning(dataSource, row))
    return rows.map((raw) => hydrate(dataSource, row, raw))[0]
  }
  const { affected } = await executeWrite(session, builder)
  const [stored] = await readRows(session, planItem(resource, target.key))
  // A driver may count what has changed, not what matches: the record itself says whether it is the target still.
  return affected > 0 || (stored !== undefined && isTarget(resource, stored, target)) ? stored : undefined
}

/** Deletes one record; one with a `@DeleteDateColumn` is marked. @returns whether there was one for the target */
export async function deleteValues(session: Session, resource: Resource, target: Target): Promise<boolean> {
  const { dataSource } = session
  const { metadata, key } = resource
  const builder = dataSource.createQueryBuilder()
  const isSoft = metadata.deleteDateColumn !== undefined
  const statement = isSoft ? builder.softDelete().from(metadata.target) : builder.delete().from(metadata.target)
  whereTarget(dataSource, statement, resource, target)
  const canReturn = dialectOf(dataSource).returning(dataSource, isSoft ? 'update' : 'delete')
  const { rows, affected } = await executeWrite(session, statement, canReturn ? returning(dataSource, key.columns) : '')
  return canReturn ? rows.length > 0 : affected > 0
}

/** Whether a row belongs to whom the target says. */
export function isTarget(resource: Resource, row: Row, target: Target): boolean {
  const { owner } = resource
  if (owner === undefined) return true
  const stored = fieldValue(resource, row, owner)
  return stored !== null && target.owner !== null && owner.kind.toJson(stored) === owner.kind.toJson(target.owner)
}

function isTable(columns: readonly ReadColumn[]): boolean {
  return columns.every(({ column }) => !column.isVirtualProperty)
}

function returning(dataSource: DataSource, columns: readonly ReadColumn[]): string {
  const names = selection(dataSource, columns).map(([column, name]) => `${column} AS ${name}`)
  return names.length === 0 ? '' : ` RETURNING ${names.join(', ')}`
}

/** What the database computes takes no value, and TypeORM would give it one. @returns undefined for all */
function insertedColumns(columns: readonly ColumnMetadata[]): string[] | undefined {
  if (columns.every((column) => column.asExpression === undefined)) return undefined
  return columns.filter((column) => column.isInsert && column.asExpression === undefined).map((one) => one.propertyPath)
}

/** Where the database cannot say which key it has made, it must be known before, or be counted up. */
function requireKey({ driver }: DataSource, { key, metadata }: Resource, entity: ObjectLiteral): void {
  for (const { column } of key.columns.filter((one) => one.column.getEntityValue(entity) === undefined)) {
    const isOurs = column.generationStrategy === 'uuid' && !driver.isUUIDGenerationSupported()
    if (isOurs) column.setEntityValue(entity, randomUUID())
    else if (column.generationStrategy !== 'increment') {
      throw new Error(`${metadata.name}.${column.propertyPath} is a key that the database makes and cannot return`)
    }
  }
}

function keyOf({ key }: Resource, entity: ObjectLiteral, raw: unknown): readonly unknown[] {
  const { insertId } = Object(raw) as { readonly insertId?: unknown }
  return key.columns.map(({ column }) => column.getEntityValue(entity) ?? insertId)
}

/** The values as TypeORM's builders take them: by property, a foreign key in place of the entity it refers to. */
function toValueSet({ driver }: DataSource, values: readonly ColumnValue[]): ObjectLiteral {
  const set: ObjectLiteral = {}
  for (const [column, value] of values) {
    const end = endOfReferences(column)
    // TypeORM does not apply the transformer of the key to a foreign key.
    const isForeign = end !== column && end.transformer !== undefined && column.transformer === undefined
    const stored = isForeign ? driver.preparePersistentValue(value, end) : value
    const { relationMetadata: relation, referencedColumn } = column
    const isOfSeveral = column.isVirtual && relation !== undefined && relation.joinColumns.length > 1
    const path = isOfSeveral ? `${relation.propertyPath}.${referencedColumn?.propertyName}` : column.propertyPath
    setPath(set, path, stored)
  }
  return set
}

/** The record must still have this key and this owner when the statement runs. */
function whereTarget(
  dataSource: DataSource,
  builder: WhereExpressionBuilder,
  { key, owner, metadata }: Resource,
  target: Target,
): void {
  const andEquals = (stored: StoredColumn, name: string, value: unknown): void => {
    const condition = `${columnSql(dataSource, stored)} = :${name}`
    builder.andWhere(condition, { [name]: toParameter(dataSource, stored, value) })
  }
  const values = toValues(key, target.key)
  for (const [index, stored] of key.columns.entries()) andEquals(stored, `tr_key${index}`, values[index])
  for (const stored of owner?.columns ?? []) andEquals(stored, 'tr_owner', target.owner)
  const deleted = metadata.deleteDateColumn
  if (deleted !== undefined) builder.andWhere(`${dataSource.driver.escape(deleted.databaseName)} IS NULL`)
}
