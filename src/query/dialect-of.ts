import { setTimeout } from 'node:timers/promises'
import { type DataSource, type EntityMetadata, QueryFailedError, QueryRunnerAlreadyReleasedError } from 'typeorm'
import type { Resource } from '../schema/registry'
import type { Dialect, DriverError, Failure, Trouble } from './dialect'
import { mysql } from './mysql'
import { postgres } from './postgres'
import { sqlite } from './sqlite'
import { SqliteLockError } from './sqlite-lock'

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

/** What the network says. */
const networkCode = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/

/** Whether an error is trouble of the database's that will pass; undefined for what is not. */
export function troubleOf(error: unknown, dataSource: DataSource): Trouble | undefined {
  // A runner whose connection breaks is released by its driver.
  const isGone = error instanceof SqliteLockError || error instanceof QueryRunnerAlreadyReleasedError
  if (isGone || !dataSource.isInitialized) return 'unavailable'
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error
  const { code, message } = Object(cause) as Partial<DriverError>
  if (typeof message !== 'string') return undefined
  return networkCode.test(code ?? '') ? 'unavailable' : dialectOf(dataSource).troubleOf(cause as DriverError)
}

/** Does work once more, as a whole, when the database has ended it in favour of others. */
export async function twice<T>(
  { dataSource }: { readonly dataSource: DataSource },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (troubleOf(error, dataSource) !== 'again') throw error
    // Not in step with whom it was in the way of.
    await setTimeout(10 + Math.random() * 40)
    return work()
  }
}
