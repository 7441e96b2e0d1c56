import type { DataSource, EntityMetadata, ObjectLiteral, QueryBuilder, WhereExpressionBuilder } from 'typeorm'
import type { ChangeSet, Target } from '../plan/plan'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { refuseDelete, refuseWrite } from './refuse-write'
import { columnName, hydrate, type Row, selection, toParameter } from './row'
import { execute, type RawRow } from './statement'

/** Inserts one record in one statement. @throws {ApiError} `conflict`, `bad-values` */
export async function insertRow(dataSource: DataSource, resource: Resource, changes: ChangeSet): Promise<Row> {
  const values = { ...classDefaults(resource.metadata), ...valuesOf(changes) }
  const builder = dataSource.createQueryBuilder().insert().into(resource.metadata.target).values(values)
  const [row] = await write(dataSource, resource, changes, builder.updateEntity(false))
  if (row === undefined) throw new Error(`INSERT into ${resource.metadata.tableName} returned no row`)
  return row
}

/** Updates one record in one statement. @returns undefined when there is none for the target any more */
export async function updateRow(
  dataSource: DataSource,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
): Promise<Row | undefined> {
  const builder = dataSource.createQueryBuilder().update(resource.metadata.target).set(valuesOf(changes))
  whereTarget(dataSource, builder, resource, target)
  const [row] = await write(dataSource, resource, changes, builder.updateEntity(false))
  return row
}

/** Deletes one record; one with a `@DeleteDateColumn` is marked. @returns whether there was one for the target */
export async function deleteRow(dataSource: DataSource, resource: Resource, target: Target): Promise<boolean> {
  const { metadata } = resource
  const builder = dataSource.createQueryBuilder()
  const statement =
    metadata.deleteDateColumn === undefined
      ? builder.delete().from(metadata.target)
      : builder.softDelete().from(metadata.target)
  whereTarget(dataSource, statement, resource, target)
  try {
    const deleted = await execute(dataSource, statement, ` RETURNING ${columnName(dataSource, resource.key)}`)
    return deleted.length > 0
  } catch (error) {
    return refuseDelete(error, resource)
  }
}

/** What a new entity brings along, as `published = false` in its class. */
function classDefaults(metadata: EntityMetadata): ObjectLiteral {
  const entity = metadata.create()
  const plain = metadata.columns.filter((column) => column.embeddedMetadata === undefined)
  return Object.fromEntries([
    ...plain.map((column) => [column.propertyName, column.getEntityValue(entity)]),
    ...metadata.embeddeds.map(({ propertyName }) => [propertyName, entity[propertyName]]),
  ])
}

/** Foreign keys are set as the related key itself, which TypeORM takes in place of an entity. */
function valuesOf(changes: ChangeSet): ObjectLiteral {
  return Object.fromEntries([...changes].map(([field, value]) => [field.column.propertyName, value]))
}

/** The record must still have this key and this owner when the statement runs. */
function whereTarget(
  dataSource: DataSource,
  builder: WhereExpressionBuilder,
  resource: Resource,
  { key, owner }: Target,
): void {
  const andEquals = (field: Field, name: string, value: unknown): void => {
    const parameters = { [name]: toParameter(dataSource, field, value) }
    builder.andWhere(`${columnName(dataSource, field)} = :${name}`, parameters)
  }
  andEquals(resource.key, 'key', key)
  if (resource.owner !== undefined) andEquals(resource.owner, 'owner', owner)
  const deleted = resource.metadata.deleteDateColumn
  if (deleted !== undefined) builder.andWhere(`${dataSource.driver.escape(deleted.databaseName)} IS NULL`)
}

async function write(
  dataSource: DataSource,
  resource: Resource,
  changes: ChangeSet,
  builder: QueryBuilder<ObjectLiteral>,
): Promise<readonly Row[]> {
  const columns = selection(dataSource, resource).map(([column, name]) => `${column} AS ${name}`)
  let rows: readonly RawRow[]
  try {
    rows = await execute(dataSource, builder, ` RETURNING ${columns.join(', ')}`)
  } catch (error) {
    return refuseWrite(error, dataSource, resource, changes)
  }
  return rows.map((row) => hydrate(dataSource, resource, row))
}
