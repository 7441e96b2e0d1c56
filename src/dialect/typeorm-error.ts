/*
 * Recognises TypeORM's errors by their members and messages. `instanceof` does not work if the application has another
 * copy of TypeORM than this package: npm installs two copies if the version that the application needs differs from the
 * one that npm chooses for our peer dependency. Class names do not work either, because bundlers shorten them.
 */
import type { DriverError } from './dialect'

/** TypeORM's `QueryFailedError`: the database has rejected a statement. */
export interface QueryFailedErrorLike extends Error {
  /** The SQL of the statement. */
  readonly query: string
  /** The values of the bind parameters. */
  readonly parameters: unknown
  readonly driverError: DriverError
}

/** Whether an error is TypeORM's `QueryFailedError`. */
export function isQueryFailure(error: unknown): error is QueryFailedErrorLike {
  const { query, driverError } = Object(error) as Partial<QueryFailedErrorLike>
  return typeof query === 'string' && typeof driverError === 'object' && driverError !== null
}

/**
 * Whether an error is TypeORM's for the use of a released query runner. Drivers release a query runner when its
 * connection breaks.
 */
export function isReleasedRunnerError(error: unknown): boolean {
  return messageOf(error).startsWith('Query runner already released')
}

function messageOf(error: unknown): string {
  return String((Object(error) as Partial<Error>).message)
}
