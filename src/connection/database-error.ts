import type { DataSource } from 'typeorm'
import type { DriverError, TransientError } from '../dialect/dialect'
import { dialectOf } from '../dialect/dialect-of'
import { isQueryFailure, isReleasedRunner } from '../dialect/typeorm-error'
import { SqliteLockError } from '../sqlite-lock/lock'
import { ConnectionError } from './connection-queue'

/** A statement that the database has not done. Unlike TypeORM's error it holds none of the values that it was about. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  constructor(
    message: string,
    /** The database's own code: `40P01`, `ER_LOCK_DEADLOCK`, `SQLITE_BUSY`. */
    readonly code: string | undefined,
    /** The statement, with placeholders. */
    readonly sql: string,
  ) {
    super(message)
  }
}

/** An error as the application may log it. */
export function toLoggable(error: unknown, dataSource: DataSource): unknown {
  if (!isQueryFailure(error)) return error
  const cause = error.driverError
  const loggable = new DatabaseError(
    dialectOf(dataSource).withoutValues(cause),
    cause.code,
    withoutNumbers(error.query),
  )
  const [, ...frames] = (error.stack ?? '').split(/\n(?= {4}at )/)
  loggable.stack = [`${loggable.name}: ${loggable.message}`, ...frames].join('\n')
  return loggable
}

/** TypeORM writes numbers into the text of its own statements on SQLite. */
function withoutNumbers(sql: string): string {
  return sql.replace(/(?<![\w"$])\d+(\.\d+)?\b/g, '?')
}

/** What the network says. */
const networkCode = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/

/** Whether an error is trouble of the database's that will pass; undefined for what is not. */
export function transientErrorOf(error: unknown, dataSource: DataSource): TransientError | undefined {
  // A runner whose connection breaks is released by its driver.
  const isGone = error instanceof SqliteLockError || error instanceof ConnectionError || isReleasedRunner(error)
  if (isGone || !dataSource.isInitialized) return 'unavailable'
  const cause = driverErrorOf(error)
  if (cause === undefined) return undefined
  return networkCode.test(String(cause.code)) ? 'unavailable' : dialectOf(dataSource).transientErrorOf(cause)
}

/** What a listener or a rule throws is not the database's, whatever it says. */
function driverErrorOf(error: unknown): DriverError | undefined {
  if (isQueryFailure(error)) return error.driverError
  // TypeORM 0.3 passes on what better-sqlite3 throws when it prepares a statement.
  return String(Object(error).code).startsWith('SQLITE_') ? (error as DriverError) : undefined
}
