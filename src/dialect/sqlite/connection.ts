/** The connection of better-sqlite3, which is synchronous and says whether it is in a transaction, or of sqlite3. */
export interface Connection {
  readonly inTransaction?: boolean
  readonly exec: (sql: string, done?: () => void) => unknown
  /** Adds a function to the SQL of better-sqlite3. */
  readonly function?: (name: string, options: { readonly varargs: boolean }, run: () => unknown) => unknown
  /** Ends the statements of sqlite3 that are running. */
  readonly interrupt?: () => void
}

/** A statement of better-sqlite3. */
export interface PreparedStatement {
  /** Whether it returns rows. */
  readonly reader: boolean
  /** Has it return them as arrays. */
  readonly raw: () => PreparedStatement
}

/** Whether SQLite has ended the transaction by itself, as it does when the disk is full; sqlite3 cannot tell. */
export function hasEnded(connection: Connection | undefined): boolean {
  return connection?.inTransaction === false
}

/** Ends what is open on the connection, past TypeORM and who listens to it. */
export function rollBackPast(connection: Connection | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (connection === undefined) resolve()
    // An error says that nothing was open.
    else if (connection.inTransaction === undefined) connection.exec('ROLLBACK', () => resolve())
    else {
      if (connection.inTransaction) connection.exec('ROLLBACK')
      resolve()
    }
  })
}
