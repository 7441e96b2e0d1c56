/*
 * TypeORM's errors, recognised by their members and messages (bundlers shorten the names of classes). `instanceof` would compare them with the classes of the copy of
 * TypeORM that this package resolves, and the application may have another one: npm installs two where the version that the application
 * needs is not the one that it chooses for our peer dependency.
 */
import type { DriverError } from './dialect'

/** TypeORM's error of a statement that the database has refused. */
export interface QueryFailure extends Error {
  /** The statement. */
  readonly query: string
  /** The values that the statement was run with. */
  readonly parameters: unknown
  readonly driverError: DriverError
}

/** Whether an error is TypeORM's `QueryFailedError`. */
export function isQueryFailure(error: unknown): error is QueryFailure {
  const { query, driverError } = Object(error) as Partial<QueryFailure>
  return typeof query === 'string' && typeof driverError === 'object' && driverError !== null
}

/** Whether an error says that a query runner is released already, as its driver does when the connection breaks. */
export function isReleasedRunner(error: unknown): boolean {
  return messageOf(error).startsWith('Query runner already released')
}

function messageOf(error: unknown): string {
  return String((Object(error) as Partial<Error>).message)
}
