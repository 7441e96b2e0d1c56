import { type DataSource, type EntityMetadata, QueryFailedError } from 'typeorm'
import type { Resource } from '../schema/registry'
import type { Dialect, DriverError, Failure } from './dialect'
import { mysql } from './mysql'
import { postgres } from './postgres'
import { sqlite } from './sqlite'

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
export function failureOf(error: unknown, dataSource: DataSource, metadata: EntityMetadata): Failure | undefined {
  if (!(error instanceof QueryFailedError)) return undefined
  return dialectOf(dataSource).failureOf(error.driverError as DriverError, metadata)
}

/** Whether a SELECT has failed for a value that only the database can read, and could not. */
export function isUnreadable(error: unknown, dataSource: DataSource, { metadata }: Resource): boolean {
  return failureOf(error, dataSource, metadata) !== undefined
}
