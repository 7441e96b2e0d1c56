/** Thrown when the connection of a SQLite data source is not free in time, or cannot run this statement. */
export class SqliteLockError extends Error {
  override readonly name = 'SqliteLockError'
}

/** Whether an error is a {@link SqliteLockError}, also one of another copy of this package, which may have installed the lock. */
export function isSqliteLockError(error: unknown): boolean {
  return error instanceof Error && error.name === 'SqliteLockError'
}
