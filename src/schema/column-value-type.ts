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

/** The column types of a database. */
interface DatabaseTypes {
  readonly table: ValueTypeTable
  /** Column types whose stored values the database cannot compare and order. Default: none. */
  readonly incomparable?: ReadonlySet<string>
  /** The value type of an array column, from that of its members. Default: arrays are not supported. */
  readonly arrayOf?: (member: ValueType, column: ColumnMetadata) => ValueType | undefined
}

const sqlite: DatabaseTypes = {
  table: sqliteTypes,
  arrayOf: (_, { type, enum: members }) => (type === 'simple-enum' ? setType(members ?? []) : undefined),
}
const postgres: DatabaseTypes = {
  table: postgresTypes,
  incomparable: postgresIncomparable,
  arrayOf: (member, { type }) => (postgresWithoutArrays.has(String(type)) ? undefined : arrayType(member)),
}
const mysql: DatabaseTypes = { table: mysqlTypes }

/** The column types by type of data source (`DataSource.options.type`). */
const databases: ReadonlyMap<string, DatabaseTypes> = new Map([
  ['better-sqlite3', sqlite],
  ['sqlite', sqlite],
  ['postgres', postgres],
  ['mysql', mysql],
  ['mariadb', mysql],
])

/** The types of data source that are supported (`DataSource.options.type`). */
export const supportedDatabases: readonly string[] = [...databases.keys()]

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
  return column.isArray ? typesOf(dataSource)?.arrayOf?.(valueType, column) : valueType
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

/** Whether the database can compare and order the stored values of a column. */
function isComparable(column: ColumnMetadata, dataSource: DataSource): boolean {
  return !typesOf(dataSource)?.incomparable?.has(dataSource.driver.normalizeType(column))
}

function typesOf({ options }: DataSource): DatabaseTypes | undefined {
  return databases.get(options.type)
}

/**
 * The declared type takes precedence over the type in the database, because drivers store `uuid` and `simple-json` as
 * text.
 */
function findEntry(column: ColumnMetadata, dataSource: DataSource): ValueTypeEntry | undefined {
  const table = typesOf(dataSource)?.table
  const declared = column.generationStrategy === 'uuid' ? 'uuid' : column.type === Boolean ? 'boolean' : column.type
  return table?.get(String(declared)) ?? table?.get(dataSource.driver.normalizeType(column))
}

/** The class that the compiler recorded for a property (`emitDecoratorMetadata`), for example `Number` or `Money`. */
function designTypeOf({ target, propertyName }: ColumnMetadata): unknown {
  const { getMetadata } = Reflect as { getMetadata?: (key: string, target: object, property: string) => unknown }
  return typeof target === 'function' ? getMetadata?.('design:type', target.prototype, propertyName) : undefined
}
