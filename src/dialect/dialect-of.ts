import type { DataSource, EntityMetadata } from 'typeorm'
import type { ConstraintViolation, Dialect } from './dialect'
import { mysql } from './mysql/dialect'
import { postgres } from './postgres/dialect'
import { sqlite } from './sqlite/dialect'
import { isQueryFailure } from './typeorm-error'

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ['better-sqlite3', sqlite],
  ['sqlite', sqlite],
  ['postgres', postgres],
  ['mysql', mysql],
  ['mariadb', mysql],
])

/**
 * The dialect of a data source's database.
 * @throws {TypeError} for a database that is not supported, which `mountResources` reports as a `ConfigError` before
 */
export function dialectOf({ options: { type } }: DataSource): Dialect {
  const dialect = dialects.get(type)
  if (dialect === undefined) {
    const supported = [...dialects.keys()].join(', ')
    throw new TypeError(`the database type "${type}" is not supported; supported types: ${supported}`)
  }
  return dialect
}

/** The constraint that a failed statement violates; undefined for errors of any other kind. */
export function violationOf(
  error: unknown,
  dataSource: DataSource,
  metadata: EntityMetadata,
): ConstraintViolation | undefined {
  if (!isQueryFailure(error)) return undefined
  return dialectOf(dataSource).violationOf(error.driverError, metadata)
}
