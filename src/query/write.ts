import { randomUUID } from 'node:crypto'
import type { ObjectLiteral, QueryBuilder, WhereExpressionBuilder } from 'typeorm'
import type { Target } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import type { StoredColumn } from '../schema/stored-column'
import { dialectOf } from './dialects'
import { type ColumnValue, columnValues, toValueSet } from './entity'
import { afterLoad } from './load'
import { columnSql, hydrate, type Row, selection, toParameter, toValues } from './row'
import { fetchRows } from './select'
import { execute, type RawRow, type Session } from './statement'

/** Inserts one record, in one statement where the database can return it. */
export async function insertValues(session: Session, resource: Resource, entity: ObjectLiteral): Promise<Row> {
  const { metadata } = resource
  if (!returns(session, resource, 'insert')) setUuid(session, resource, entity)
  const values = toValueSet(session.dataSource, columnValues(metadata, entity))
  // What the database computes takes no value, and TypeORM would give it one.
  const isComputed = metadata.columns.some((column) => column.asExpression !== undefined)
  const given = metadata.columns.filter((column) => column.isInsert && column.asExpression === undefined)
  const names = isComputed ? given.map((column) => column.propertyPath) : undefined
  const builder = session.dataSource.createQueryBuilder().insert().into(metadata.target, names).values(values)
  if (returns(session, resource, 'insert')) {
    const { rows } = await execute(session, builder.updateEntity(false), returning(session, resource))
    return one(await hydrateAll(session, resource, rows), resource)
  }
  const key = await insertForKey(session, resource, builder.updateEntity(false), entity)
  return one(await fetchRows(session, planItem(resource, key)), resource)
}

/** Inserts where the row itself cannot be returned. @returns its key */
async function insertForKey(
  session: Session,
  { key, metadata }: Resource,
  builder: QueryBuilder<ObjectLiteral>,
  entity: ObjectLiteral,
): Promise<unknown> {
  const { dataSource } = session
  const canReturn = dialectOf(dataSource).returning(dataSource, 'insert')
  const names = key.columns.map((stored, index) => `${columnSql(dataSource, stored)} AS c${index}`)
  const { rows, raw } = await execute(session, builder, canReturn ? ` RETURNING ${names.join(', ')}` : '')
  const { insertId } = Object(raw) as { readonly insertId?: unknown }
  const values = key.columns.map(({ column, valueColumn }, index) => {
    const generated = canReturn ? rows[0]?.[`c${index}`] : insertId
    return column.getEntityValue(entity) ?? dataSource.driver.prepareHydratedValue(generated, valueColumn)
  })
  if (values.includes(undefined)) throw new Error(`INSERT into ${metadata.tableName} returned no key`)
  return values.length === 1 ? values[0] : values
}

/** Updates one record, in one statement where the database can return it. @returns undefined when the target is gone */
export async function updateValues(
  session: Session,
  resource: Resource,
  target: Target,
  values: readonly ColumnValue[],
): Promise<Row | undefined> {
  const { dataSource } = session
  const builder = dataSource
    .createQueryBuilder()
    .update(resource.metadata.target)
    .set(toValueSet(dataSource, values))
    .updateEntity(false)
  whereTarget(session, builder, resource, target)
  if (returns(session, resource, 'update')) {
    const { rows } = await execute(session, builder, returning(session, resource))
    return (await hydrateAll(session, resource, rows))[0]
  }
  const { affected } = await execute(session, builder)
  // Counts what matches or, by the driver's flags, what has changed: the record itself says whether it is there.
  const [row] = await fetchRows(session, planItem(resource, target.key))
  return affected === 0 && row !== undefined && !isTarget(resource, row, target) ? undefined : row
}

/** Deletes one record; one with a `@DeleteDateColumn` is marked. @returns whether there was one for the target */
export async function deleteValues(session: Session, resource: Resource, target: Target): Promise<boolean> {
  const { dataSource } = session
  const { metadata } = resource
  const builder = dataSource.createQueryBuilder()
  const isSoft = metadata.deleteDateColumn !== undefined
  const statement = isSoft ? builder.softDelete().from(metadata.target) : builder.delete().from(metadata.target)
  whereTarget(session, statement, resource, target)
  if (!dialectOf(dataSource).returning(dataSource, isSoft ? 'update' : 'delete')) {
    return (await execute(session, statement)).affected > 0
  }
  const columns = resource.key.columns.map((column) => columnSql(dataSource, column))
  return (await execute(session, statement, ` RETURNING ${columns.join(', ')}`)).rows.length > 0
}

/** Whether a row belongs to whom the target says. */
export function isTarget({ owner, row: columns }: Resource, row: Row, target: Target): boolean {
  const [column] = owner?.columns ?? []
  if (column === undefined) return true
  return column.kind.toJson(row[columns.indexOf(column)]) === column.kind.toJson(target.owner)
}

function returns({ dataSource }: Session, { row }: Resource, statement: 'insert' | 'update'): boolean {
  const isTable = row.every(({ column }) => !column.isVirtualProperty)
  return isTable && dialectOf(dataSource).returning(dataSource, statement)
}

function returning({ dataSource }: Session, resource: Resource): string {
  const columns = selection(dataSource, resource).map(([column, name]) => `${column} AS ${name}`)
  return ` RETURNING ${columns.join(', ')}`
}

function hydrateAll(session: Session, resource: Resource, rows: readonly RawRow[]): Promise<readonly Row[]> {
  const hydrated = rows.map((row) => hydrate(session.dataSource, resource, row))
  return afterLoad(session, resource, hydrated)
}

function one(rows: readonly Row[], { metadata }: Resource): Row {
  const [row] = rows
  if (row === undefined) throw new Error(`INSERT into ${metadata.tableName} returned no row`)
  return row
}

/** TypeORM would make the key while it writes the statement, and not say which. */
function setUuid({ dataSource }: Session, { key }: Resource, entity: ObjectLiteral): void {
  for (const { column } of key.columns) {
    const isOurs = column.generationStrategy === 'uuid' && !dataSource.driver.isUUIDGenerationSupported()
    if (isOurs && column.getEntityValue(entity) === undefined) column.setEntityValue(entity, randomUUID())
  }
}

/** The record must still have this key and this owner when the statement runs. */
function whereTarget(
  { dataSource }: Session,
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
