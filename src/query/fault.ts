import { type DataSource, QueryFailedError } from 'typeorm'
import type { DriverError } from './dialect'
import { dialectOf } from './dialect-of'

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
  if (!(error instanceof QueryFailedError)) return error
  const cause = error.driverError as DriverError
  const loggable = new DatabaseError(dialectOf(dataSource).withoutValues(cause), cause.code, error.query)
  const [, ...frames] = (error.stack ?? '').split(/\n(?= {4}at )/)
  loggable.stack = [`${loggable.name}: ${loggable.message}`, ...frames].join('\n')
  return loggable
}
