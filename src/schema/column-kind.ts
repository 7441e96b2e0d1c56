import type { DataSource } from 'typeorm'
import { arrayKind } from '../value/array'
import { setKind } from '../value/json'
import type { Kind } from '../value/kind'
import { transformedKind } from '../value/transformed'
import type { KindEntry, KindTable } from './kind-table'
import type { ColumnMetadata } from './metadata'
import { mysqlKinds } from './mysql-kinds'
import { postgresKinds, postgresWithoutArrays } from './postgres-kinds'
import { sqliteKinds } from './sqlite-kinds'

const tables: ReadonlyMap<string, KindTable> = new Map([
  ['better-sqlite3', sqliteKinds],
  ['sqlite', sqliteKinds],
  ['postgres', postgresKinds],
  ['mysql', mysqlKinds],
  ['mariadb', mysqlKinds],
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
export function kindOf(column: ColumnMetadata, dataSource: DataSource): Kind | undefined {
  const found = lookUp(column, dataSource)
  const kind = typeof found === 'function' ? found(column, dataSource) : found
  if (column.transformer !== undefined) {
    return transformedKind(kind, designTypeOf(column), [column.transformer].flat())
  }
  if (kind === undefined || kind === 'binary') return undefined
  return column.isArray ? arrayOf(kind, column, dataSource) : kind
}

/** PostgreSQL has arrays of most types, SQLite one of the members of a `simple-enum`. */
function arrayOf(kind: Kind, { type, enum: members }: ColumnMetadata, { options }: DataSource): Kind | undefined {
  const table = tables.get(options.type)
  if (table === postgresKinds) return postgresWithoutArrays.has(String(type)) ? undefined : arrayKind(kind)
  return table === sqliteKinds && type === 'simple-enum' ? setKind(members ?? []) : undefined
}

/** What the entity declared counts first: drivers store a `uuid` or a `simple-json` as plain text. */
function lookUp(column: ColumnMetadata, dataSource: DataSource): KindEntry | undefined {
  const kinds = tables.get(dataSource.options.type)
  const declared = column.generationStrategy === 'uuid' ? 'uuid' : column.type === Boolean ? 'boolean' : column.type
  return kinds?.get(String(declared)) ?? kinds?.get(dataSource.driver.normalizeType(column))
}

/** The class that the compiler noted for a property (`emitDecoratorMetadata`), as `Number` or `Money`. */
function designTypeOf({ target, propertyName }: ColumnMetadata): unknown {
  const { getMetadata } = Reflect as { getMetadata?: (key: string, target: object, property: string) => unknown }
  return typeof target === 'function' ? getMetadata?.('design:type', target.prototype, propertyName) : undefined
}
