import type { DataSource } from 'typeorm'
import { arrayType } from '../value/array'
import { setType } from '../value/json'
import { transformedType } from '../value/transformed'
import type { ValueType } from '../value/value-type'
import type { ColumnMetadata } from './metadata'
import { mysqlTypes } from './mysql-types'
import { postgresTypes, postgresWithoutArrays } from './postgres-types'
import { sqliteTypes } from './sqlite-types'
import type { ValueTypeEntry, ValueTypeTable } from './value-type-table'

const tables: ReadonlyMap<string, ValueTypeTable> = new Map([
  ['better-sqlite3', sqliteTypes],
  ['sqlite', sqliteTypes],
  ['postgres', postgresTypes],
  ['mysql', mysqlTypes],
  ['mariadb', mysqlTypes],
])

/** The types of data source that this service knows. */
export const supportedDatabases: readonly string[] = [...tables.keys()]

/** Binary columns have no JSON form and are never exposed (specification: Values in JSON). */
export function isBinary(column: ColumnMetadata, dataSource: DataSource): boolean {
  return column.transformer === undefined && lookUp(column, dataSource) === 'binary'
}

/**
 * The kind of values that a column holds.
 * @returns undefined for a column type that this service has no JSON form for
 */
export function valueTypeOf(column: ColumnMetadata, dataSource: DataSource): ValueType | undefined {
  const found = lookUp(column, dataSource)
  const kind = typeof found === 'function' ? found(column, dataSource) : found
  if (column.transformer !== undefined) {
    return transformedType(kind, designTypeOf(column), [column.transformer].flat())
  }
  if (kind === undefined || kind === 'binary') return undefined
  return column.isArray ? arrayOf(kind, column, dataSource) : kind
}

/** PostgreSQL has arrays of most types, SQLite one of the members of a `simple-enum`. */
function arrayOf(
  kind: ValueType,
  { type, enum: members }: ColumnMetadata,
  { options }: DataSource,
): ValueType | undefined {
  const table = tables.get(options.type)
  if (table === postgresTypes) return postgresWithoutArrays.has(String(type)) ? undefined : arrayType(kind)
  return table === sqliteTypes && type === 'simple-enum' ? setType(members ?? []) : undefined
}

/** What the entity declared counts first: drivers store a `uuid` or a `simple-json` as plain text. */
function lookUp(column: ColumnMetadata, dataSource: DataSource): ValueTypeEntry | undefined {
  const kinds = tables.get(dataSource.options.type)
  const declared = column.generationStrategy === 'uuid' ? 'uuid' : column.type === Boolean ? 'boolean' : column.type
  return kinds?.get(String(declared)) ?? kinds?.get(dataSource.driver.normalizeType(column))
}

/** The class that the compiler noted for a property (`emitDecoratorMetadata`), as `Number` or `Money`. */
function designTypeOf({ target, propertyName }: ColumnMetadata): unknown {
  const { getMetadata } = Reflect as { getMetadata?: (key: string, target: object, property: string) => unknown }
  return typeof target === 'function' ? getMetadata?.('design:type', target.prototype, propertyName) : undefined
}
