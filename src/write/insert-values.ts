import { randomUUID } from 'node:crypto'
import type { DataSource, EntityMetadata, InsertQueryBuilder, ObjectLiteral } from 'typeorm'
import { collectValues } from '../connection/compile'
import { type ColumnValue, columnValues, setPath } from '../read/entity'
import { valueReader } from '../read/row'
import type { Store } from '../read/store'
import { type ColumnMetadata, entityValue } from '../schema/metadata'
import type { ReadColumn } from '../schema/stored-column'
import type { InsertTarget } from './insert-target'
import { isTable } from './returning'
import { explicitDefaults, toValueSet } from './value-set'

/** The values of one row of an INSERT. */
export interface InsertValues {
  readonly entity: ObjectLiteral
  /** Bound values, by the index of their placeholders. */
  readonly values: readonly unknown[]
  /** Argument of TypeORM's `values()`. */
  readonly toSet: () => ObjectLiteral
  /** Cache key of the SQL of the row, without its view; undefined if the SQL depends on the values. */
  readonly shape: string | undefined
}

/** The values of a row, with those that the application generates. */
export function insertValuesOf(target: InsertTarget, entity: ObjectLiteral): InsertValues {
  const { view, dataSource, dialect } = target
  generateKey(dataSource, view.metadata, entity, dialect.supportsReturning(dataSource, 'insert'))
  const { values, bind } = collectValues()
  const { toSet, shape } = toValueSet(target, insertedValues(view.metadata, entity), bind, 'insert')
  const defaults = explicitDefaults(target, entity)
  const defaultsKey = defaults.map(([{ propertyPath }, text]) => `\n${propertyPath} ${text}`)
  return {
    entity,
    values,
    shape: shape === undefined ? undefined : shape + defaultsKey.join(''),
    toSet: () => {
      const set = toSet()
      for (const [column, text] of defaults) setPath(set, column.propertyPath, () => text)
      return set
    },
  }
}

/** Builds an INSERT, without RETURNING. */
export function insertBuilder(
  { view: { metadata }, dataSource }: InsertTarget,
  sets: readonly ObjectLiteral[],
): InsertQueryBuilder<ObjectLiteral> {
  const inserted = insertedColumns(metadata.columns)
  return dataSource
    .createQueryBuilder()
    .insert()
    .into(metadata.target, inserted)
    .values([...sets])
    .updateEntity(false)
}

/** The columns that an INSERT returns: all of them, the key if some are computed, or none. */
export function returnedColumnsOf({ view: { columns, key }, dataSource, dialect }: Store): readonly ReadColumn[] {
  if (!dialect.supportsReturning(dataSource, 'insert')) return []
  return isTable(columns) ? columns : key.columns
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
  return columnValues(metadata, entity, isTransformed)
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
  metadata: EntityMetadata,
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

/**
 * The key of an inserted row, by column, if the INSERT has not returned it.
 * @param insertId generated key as the driver reports it, which a transformer has not read yet
 */
export function insertedKey(
  dataSource: DataSource,
  key: readonly ReadColumn[],
  entity: ObjectLiteral,
  insertId: unknown,
): readonly unknown[] {
  return key.map((stored) => {
    const given = entityValue(stored.column, entity)
    // MySQL generates a key for 0 too.
    const isGenerated = given === undefined || given === null || (given === 0 && stored.column.isGenerated)
    return isGenerated ? valueReader(stored, dataSource)(insertId) : given
  })
}
