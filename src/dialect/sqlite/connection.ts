/** A connection of better-sqlite3, which is synchronous, or of sqlite3. */
export interface Connection {
  /** Whether a transaction is open; undefined with sqlite3, which does not report it. */
  readonly inTransaction?: boolean
  readonly exec: (sql: string, done?: () => void) => unknown
  /** Defines an SQL function (better-sqlite3). */
  readonly function?: (name: string, options: { readonly varargs: boolean }, run: () => unknown) => unknown
  /** Interrupts all running statements (sqlite3). */
  readonly interrupt?: () => void
}

/** A prepared statement of better-sqlite3. */
export interface PreparedStatement {
  /** Whether it returns rows. */
  readonly reader: boolean
  /** Makes the statement return rows as arrays. @returns the statement itself */
  readonly raw: () => PreparedStatement
  /** Runs the statement. @returns all rows */
  all: (...values: readonly unknown[]) => unknown
  /** Runs a statement without rows. */
  run: (...values: readonly unknown[]) => unknown
}

/**
 * Whether SQLite itself has rolled back the transaction, as when the disk is full. Always false with sqlite3, which
 * does not report it.
 */
export function wasRolledBack(connection: Connection | undefined): boolean {
  return connection?.inTransaction === false
}

/** Rolls back an open transaction directly on the connection: without TypeORM, so that no subscriber is called. */
export function rollBackDirectly(connection: Connection | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (connection === undefined) resolve()
    // An error means that no transaction was open.
    else if (connection.inTransaction === undefined) connection.exec('ROLLBACK', () => resolve())
    else {
      if (connection.inTransaction) connection.exec('ROLLBACK')
      resolve()
    }
  })
}
