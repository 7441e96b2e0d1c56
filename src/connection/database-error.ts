import type { DataSource } from 'typeorm'
import type { DriverError, TransientError } from '../dialect/dialect'
import { dialectOf } from '../dialect/dialect-of'
import { isQueryFailure, isReleasedRunnerError } from '../dialect/typeorm-error'
import { isSqliteLockError } from '../sqlite-lock/lock-error'
import { isConnectionError } from './client-turns'

/** Error of a failed statement. Unlike TypeORM's `QueryFailedError` it does not contain the values of the statement. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  constructor(
    message: string,
    /** The code of the database: `40P01`, `ER_LOCK_DEADLOCK`, `SQLITE_BUSY`. */
    readonly code: string | undefined,
    /** The statement, with placeholders. */
    readonly sql: string,
  ) {
    super(message)
  }
}

/** Converts an error of TypeORM into a `DatabaseError`, which may be logged. Returns other errors unchanged. */
export function toLoggable(error: unknown, dataSource: DataSource): unknown {
  if (!isQueryFailure(error)) return error
  const { driverError } = error
  const loggable = new DatabaseError(
    dialectOf(dataSource).withoutValues(driverError),
    driverError.code,
    withoutNumbers(error.query),
  )
  const [, ...frames] = (error.stack ?? '').split(/\n(?= {4}at )/)
  loggable.stack = [`${loggable.name}: ${loggable.message}`, ...frames].join('\n')
  return loggable
}

/** Replaces numbers by `?`: on SQLite TypeORM writes numbers into the text of its own statements. */
function withoutNumbers(sql: string): string {
  return sql.replace(/(?<![\w"$])\d+(\.\d+)?\b/g, '?')
}

/** Error codes of Node.js for network failures. */
const networkCode = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/

/** Kind of transient failure of the database that an error reports; undefined for all other errors. */
export function transientErrorOf(error: unknown, dataSource: DataSource): TransientError | undefined {
  // When a connection breaks, its driver releases the query runner.
  const hasNoConnection = isSqliteLockError(error) || isConnectionError(error) || isReleasedRunnerError(error)
  if (hasNoConnection || !dataSource.isInitialized) return 'unavailable'
  const driverError = driverErrorOf(error)
  if (driverError === undefined) return undefined
  return networkCode.test(String(driverError.code))
    ? 'unavailable'
    : dialectOf(dataSource).transientErrorOf(driverError)
}

/**
 * The error of the driver; undefined for errors that listeners and access rules throw, even if their code looks like that of
 * a driver.
 */
function driverErrorOf(error: unknown): DriverError | undefined {
  if (isQueryFailure(error)) return error.driverError
  // TypeORM 0.3 does not wrap the error that better-sqlite3 throws when it prepares a statement.
  return String(Object(error).code).startsWith('SQLITE_') ? (error as DriverError) : undefined
}
