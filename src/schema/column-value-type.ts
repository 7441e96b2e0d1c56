import type { DataSource } from 'typeorm'
import { arrayType } from '../value/array'
import { setType } from '../value/json'
import { transformedType } from '../value/transformed'
import { nullOperators, type ValueType } from '../value/value-type'
import type { ColumnMetadata } from './metadata'
import { mysqlTypes } from './mysql-types'
import { postgresIncomparable, postgresTypes, postgresWithoutArrays } from './postgres-types'
import { sqliteTypes } from './sqlite-types'
import type { ValueTypeEntry, ValueTypeTable } from './value-type-table'

const tables: ReadonlyMap<string, ValueTypeTable> = new Map([
  ['better-sqlite3', sqliteTypes],
  ['sqlite', sqliteTypes],
  ['postgres', postgresTypes],
  ['mysql', mysqlTypes],
  ['mariadb', mysqlTypes],
])

/** The types of data source that are supported (`DataSource.options.type`). */
export const supportedDatabases: readonly string[] = [...tables.keys()]

/**
 * Whether a column is binary. Binary columns have no JSON form and are never exposed (specification: Values in JSON).
 */
export function isBinary(column: ColumnMetadata, dataSource: DataSource): boolean {
  return column.transformer === undefined && findEntry(column, dataSource) === 'binary'
}

/**
 * The value type of a column.
 * @returns undefined for a column type that has no JSON form
 */
export function valueTypeOf(column: ColumnMetadata, dataSource: DataSource): ValueType | undefined {
  const valueType = columnTypeOf(column, dataSource)
  if (column.transformer !== undefined) {
    const shown = transformedType(valueType, designTypeOf(column), [column.transformer].flat())
    return isComparable(column, dataSource) ? shown : { ...shown, name: 'other', operators: nullOperators }
  }
  if (valueType === undefined || valueType === 'binary') return undefined
  return column.isArray ? arrayOf(valueType, column, dataSource) : valueType
}

/** Whether the column type is one of dates, times or date-times. A transformer may store them in other column types. */
export function isTemporal(column: ColumnMetadata, dataSource: DataSource): boolean {
  const valueType = columnTypeOf(column, dataSource)
  return typeof valueType === 'object' && valueType.upperBound !== undefined
}

/** The value type of the stored values: that of the column type, without the column's transformer. */
function columnTypeOf(column: ColumnMetadata, dataSource: DataSource): ValueType | 'binary' | undefined {
  const entry = findEntry(column, dataSource)
  return typeof entry === 'function' ? entry(column, dataSource) : entry
}

/**
 * The value type of an array column: of most types on PostgreSQL, of `simple-enum` only on SQLite, of none on other
 * databases.
 */
function arrayOf(
  member: ValueType,
  { type, enum: members }: ColumnMetadata,
  { options }: DataSource,
): ValueType | undefined {
  const table = tables.get(options.type)
  if (table === postgresTypes) return postgresWithoutArrays.has(String(type)) ? undefined : arrayType(member)
  return table === sqliteTypes && type === 'simple-enum' ? setType(members ?? []) : undefined
}

/** Whether the database can compare and order the stored values of a column. */
function isComparable(column: ColumnMetadata, { options, driver }: DataSource): boolean {
  return options.type !== 'postgres' || !postgresIncomparable.has(driver.normalizeType(column))
}

/**
 * The declared type takes precedence over the type in the database, because drivers store `uuid` and `simple-json` as
 * text.
 */
function findEntry(column: ColumnMetadata, dataSource: DataSource): ValueTypeEntry | undefined {
  const table = tables.get(dataSource.options.type)
  const declared = column.generationStrategy === 'uuid' ? 'uuid' : column.type === Boolean ? 'boolean' : column.type
  return table?.get(String(declared)) ?? table?.get(dataSource.driver.normalizeType(column))
}

/** The class that the compiler recorded for a property (`emitDecoratorMetadata`), for example `Number` or `Money`. */
function designTypeOf({ target, propertyName }: ColumnMetadata): unknown {
  const { getMetadata } = Reflect as { getMetadata?: (key: string, target: object, property: string) => unknown }
  return typeof target === 'function' ? getMetadata?.('design:type', target.prototype, propertyName) : undefined
}
