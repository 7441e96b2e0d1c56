import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import { rootAlias } from '../query/query'
import type { Field } from '../schema/field'
import { type ColumnMetadata, isComputed } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'
import type { ReadColumn, StoredColumn } from '../schema/stored-column'
import { comparedJson } from '../value/value-type'

/**
 * Values of one row, as TypeORM sets them in entities, in the order of `view.columns` or `view.entityColumns`.
 */
export type Row = readonly unknown[]

/** Value of a field in a row. For a field of several columns it is an array; it is null if one of them is null. */
export function fieldValue(view: ResourceView, row: Row, field: Field): unknown {
  return valueAtPositions(row, positionsOf(field, view))
}

/** Same as {@link fieldValue}, with the positions of the field's columns in the row. */
export function valueAtPositions(row: Row, positions: readonly number[]): unknown {
  if (positions.length === 1) return row[positions[0] ?? -1] ?? null
  const values = positions.map((position) => row[position] ?? null)
  return values.includes(null) ? null : values
}

/** Positions of a field's columns in a row. */
export function positionsOf(field: Field, { columns }: ResourceView): readonly number[] {
  return field.columns.map((column) => columns.indexOf(column))
}

/** Splits the value of a field into the values of its columns. */
export function splitColumnValues({ columns }: Field, value: unknown): readonly unknown[] {
  if (columns.length === 1) return [value]
  return value === null ? columns.map(() => null) : (value as readonly unknown[])
}

/** Text that identifies a record of a resource. It is the same for two keys that the database considers equal. */
export function keyId({ key }: ResourceView, value: unknown): string {
  const parts = splitColumnValues(key, value)
  return JSON.stringify(key.columns.map(({ valueType }, index) => comparedJson(valueType, parts[index])))
}

/** Joins the values of a field's columns into the value of the field. */
export function joinColumnValues(values: readonly unknown[]): unknown {
  return values.length === 1 ? values[0] : values
}

/**
 * SQL of a column, qualified with an alias; without one, for a statement of a single table.
 * @param isSelected whether its values are read. In a comparison, an expression without a query stays as it is
 */
export function columnSql(dataSource: DataSource, { column }: ReadColumn, alias?: string, isSelected = false): string {
  const { driver } = dataSource
  const table = alias === undefined ? undefined : driver.escape(alias)
  if (column.query !== undefined) return virtualColumnSql(dataSource, column, column.query, table, isSelected)
  const escapedName = driver.escape(column.databaseName)
  return table === undefined ? escapedName : `${table}.${escapedName}`
}

/**
 * SQL of a virtual column. Each computation of a query checks the time limit, because it may read many rows. In a joined table without
 * a row, a query such as `SELECT COUNT(*)` would still have a value; the condition on the key makes it null. An outer SELECT keeps the
 * type of the query, which CASE would lose on SQLite.
 */
function virtualColumnSql(
  dataSource: DataSource,
  { entityMetadata }: ColumnMetadata,
  query: NonNullable<ColumnMetadata['query']>,
  table: string | undefined,
  isSelected: boolean,
): string {
  const { driver } = dataSource
  const sql = `(${query(table ?? driver.escape(entityMetadata.tableName))})`
  const [keyColumn] = entityMetadata.primaryColumns
  if (table === undefined || keyColumn === undefined) return sql
  const key = `${table}.${driver.escape(keyColumn.databaseName)}`
  const isChecked = isSelected || hasQuery.test(sql)
  const timeLimit = (isChecked && dialectOf(dataSource).timeLimitSql(dataSource, key)) || ''
  const isRow = table === driver.escape(rootAlias) ? '' : `${key} IS NOT NULL`
  const conditions = [timeLimit, isRow].filter(Boolean).join(' AND ')
  return conditions === '' ? sql : `(SELECT ${sql} WHERE ${conditions})`
}

/**
 * Matches the SQL of a virtual column that contains a query. An expression without one may have an index, which SQLite would not use
 * inside a SELECT.
 */
const hasQuery = /\b(?:SELECT|WITH)\b/i

/** Whether a virtual column is an expression without a query, whose SQL in comparisons does not check the time limit itself. */
export function isExpression({ query, entityMetadata }: ColumnMetadata): boolean {
  return query !== undefined && !hasQuery.test(query(entityMetadata.tableName))
}

/** SQL of a column in comparisons. */
export function comparisonColumnSql(dataSource: DataSource, column: StoredColumn, alias?: string): string {
  return dialectOf(dataSource).comparisonSql(column, columnSql(dataSource, column, alias))
}

/** Whether a column may be null. A computed column may: no declaration excludes it. */
export function mayBeNull({ column }: ReadColumn): boolean {
  return column.isNullable || isComputed(column)
}

/**
 * Bind parameter for a value of a column: with its transformer applied, dates and booleans in the form that the driver
 * stores.
 */
export function toBindParameter(dataSource: DataSource, { valueColumn }: ReadColumn, value: unknown): unknown {
  return dialectOf(dataSource).toComparedValue(
    valueColumn,
    dataSource.driver.preparePersistentValue(value, valueColumn),
  )
}

/** SELECT expressions of columns, each with its position as its name. */
export function selection(
  dataSource: DataSource,
  columns: readonly ReadColumn[],
  alias?: string,
): readonly [string, string][] {
  const { selectSql } = dialectOf(dataSource)
  return columns.map((stored, index) => [selectSql(stored, columnSql(dataSource, stored, alias, true)), String(index)])
}

/** Thrown if the transformer of a column fails for a stored value. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError'
  constructor(
    readonly column: ColumnMetadata,
    cause: unknown,
  ) {
    super(`the transformer of ${column.entityMetadata.name}.${column.propertyPath} cannot read the stored value`, {
      cause,
    })
  }
}

/** Converts a row of the driver into the values that TypeORM sets in entities. */
export type RowReader = (raw: RawRow) => Row

/** Builds a reader of rows that were selected with {@link selection}. The reader throws {@link UnreadableError}. */
export function buildRowReader(columns: readonly ReadColumn[], dataSource: DataSource): RowReader {
  const readers = columns.map((column) => valueReader(column, dataSource))
  return (raw) => readers.map((read, index) => read(raw[index]))
}

/** Reader of one raw value of the driver. The reader throws {@link UnreadableError}. */
export function valueReader(column: ReadColumn, dataSource: DataSource): (raw: unknown) => unknown {
  const { valueType, valueColumn } = column
  const toDriverValue = dialectOf(dataSource).driverValueReader?.(column, dataSource)
  const hydrate = (raw: unknown): unknown =>
    hydrateValue(dataSource.driver, column, toDriverValue === undefined ? raw : toDriverValue(raw))
  if (valueType === undefined || valueColumn.transformer !== undefined) return hydrate
  // Fast path: TypeORM does not convert these values.
  if (valueType.name === 'integer') return (raw) => (Number.isSafeInteger(raw) ? raw : hydrate(raw))
  return valueType.name === 'text' ? (raw) => (typeof raw === 'string' ? raw : hydrate(raw)) : hydrate
}

function hydrateValue(driver: DataSource['driver'], { column, valueColumn }: ReadColumn, raw: unknown): unknown {
  // A foreign key uses the transformer of the key that it refers to, which need not handle null: keys are never null.
  if (raw === null && column !== valueColumn) return null
  // PostgreSQL's driver has already parsed the value (arrays, `hstore`); TypeORM's driver would parse it again.
  const isParsed = Array.isArray(raw) || (valueColumn.type === 'hstore' && typeof raw === 'object')
  if (isParsed && valueColumn.transformer === undefined) return raw
  try {
    const value: unknown = driver.prepareHydratedValue(raw, valueColumn)
    // SQLite accepts any text in a column of dates or JSON. A value that cannot be parsed is returned as it is stored.
    return value instanceof Date && Number.isNaN(value.getTime()) ? raw : value
  } catch (cause) {
    if (valueColumn.transformer !== undefined) throw new UnreadableError(column, cause)
    if (cause instanceof SyntaxError) return raw
    throw cause
  }
}
