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

/** @throws {TypeError} for a database that no mount lets pass */
export function dialectOf({ options: { type } }: DataSource): Dialect {
  const dialect = dialects.get(type)
  if (dialect === undefined) throw new TypeError(`${type} is not supported`)
  return dialect
}

/** Which constraint an error speaks of; undefined for one that speaks of none. */
export function violationOf(
  error: unknown,
  dataSource: DataSource,
  metadata: EntityMetadata,
): ConstraintViolation | undefined {
  if (!isQueryFailure(error)) return undefined
  return dialectOf(dataSource).violationOf(error.driverError, metadata)
}
