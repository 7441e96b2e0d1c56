import type { DataSource, EntityMetadata } from 'typeorm'
import type { Dialect, Failure } from './dialect'
import { mysql } from './mysql'
import { postgres } from './postgres'
import { sqlite } from './sqlite'
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
export function failureOf(error: unknown, dataSource: DataSource, metadata: EntityMetadata): Failure | undefined {
  if (!isQueryFailure(error)) return undefined
  return dialectOf(dataSource).failureOf(error.driverError, metadata)
}
