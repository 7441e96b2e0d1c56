import type { DataSource, QueryRunner } from 'typeorm'
import { addTimeLimit } from '../dialect/sqlite/time-limit'
import { isQueryFailure } from '../dialect/typeorm-error'
import type { ReadConnection, SqliteLock } from './lock'
import { isSqliteLockError } from './lock-error'
import { PreparedStatements } from './prepared-statements'
import { lockRunner, type SqliteDriver, type SqliteRunner } from './runner'
import { type Sender, sendAs } from './sender'

/**
 * Time without reads after which the connection is closed, in milliseconds, and least time between two attempts to open it.
 * Opening it takes 0.4 ms, or as long as the application's `prepareDatabase`.
 */
const idleMs = 1000

/** Flags of sqlite3 for a connection that only reads: `OPEN_READONLY | OPEN_FULLMUTEX`. */
const readOnlyFlags = 0x1 | 0x10000

/** An open connection. */
interface OpenConnection {
  readonly runner: QueryRunner
  readonly close: () => Promise<void>
}

/** A read-only connection to the file of a data source, which is opened for reads and closed when there are none. */
export class ReadOnlyConnection implements ReadConnection {
  readonly #open: () => Promise<OpenConnection | undefined>
  /** Result of the last attempt to open it: undefined before the first one, and when the next one may begin. */
  #attempt: Promise<OpenConnection | undefined> | undefined
  /** The connection, while statements may use it. */
  #connection: OpenConnection | undefined
  #running = 0
  #idleTimer: NodeJS.Timeout | undefined

  constructor(open: () => Promise<OpenConnection | undefined>) {
    this.#open = open
  }

  isReady(): boolean {
    if (this.#attempt === undefined) {
      const attempt = this.#open().catch(() => undefined)
      this.#attempt = attempt
      attempt.then((connection) => {
        if (this.#attempt !== attempt) return
        this.#connection = connection
        this.#idleTimer = setTimeout(() => this.#closeIfIdle(), idleMs).unref()
      })
    }
    return this.#connection !== undefined
  }

  async query(
    sender: Sender | undefined,
    sql: string,
    parameters: readonly never[],
  ): Promise<{ readonly result: unknown } | undefined> {
    const connection = this.#connection
    if (connection === undefined) return undefined
    this.#running += 1
    this.#idleTimer?.refresh()
    try {
      const runner = sender === undefined ? connection.runner : sendAs(sender, connection.runner)
      return { result: await runner.query(sql, ...parameters) }
    } catch (error) {
      if (isLimit(error)) throw error
      // The connection may lack what the first one has, such as an SQL function that the application has added to it. Other statements
      // may use it.
      if (isOfStatement(error)) return undefined
      // It may be closed. Other reads do not try it again until it is opened anew.
      if (this.#connection === connection) this.#connection = undefined
      return undefined
    } finally {
      this.#running -= 1
    }
  }

  async close(): Promise<void> {
    const attempt = this.#attempt
    clearTimeout(this.#idleTimer)
    this.#attempt = undefined
    this.#connection = undefined
    await (await attempt)?.close()
  }

  #closeIfIdle(): void {
    if (this.#running > 0) this.#idleTimer?.refresh()
    else void this.close()
  }
}

/** Whether an error is one of a statement, such as one with a function that does not exist, or with a sum that is too large. */
function isOfStatement(error: unknown): boolean {
  // TypeORM 0.3 throws some errors of better-sqlite3 as they are.
  const cause: unknown = isQueryFailure(error) ? error.driverError : error
  return Object(cause).code === 'SQLITE_ERROR'
}

/** Whether a statement took too long or waited too long: it must not run a second time. */
function isLimit(error: unknown): boolean {
  return isSqliteLockError(error) || (isQueryFailure(error) && error.driverError.code === 'SQLITE_INTERRUPT')
}

/**
 * Path of the file that has all tables of a connection.
 * @returns undefined if the database is in memory, or if there are attached databases or temporary tables
 */
export async function databaseFile(runner: QueryRunner): Promise<string | undefined> {
  const [main, ...others]: readonly { readonly file: string }[] = await runner.query(
    // SQLite lists the database of temporary tables also if there are none.
    `SELECT file FROM pragma_database_list WHERE name <> 'temp' OR EXISTS (SELECT 1 FROM sqlite_temp_master)`,
  )
  return others.length > 0 || main === undefined || main.file === '' ? undefined : main.file
}

/**
 * Opens a read-only connection with a driver of the same class and the same options, so that keys and the application's
 * `prepareDatabase` apply to it.
 * @param lock a lock for the new connection, which has the limits of its statements
 * @returns undefined if the database is not in WAL mode: its readers would then block the writer
 */
export async function openReadOnly(
  dataSource: DataSource,
  database: string,
  lock: SqliteLock,
): Promise<OpenConnection | undefined> {
  const driver = await connect(dataSource, database)
  const close = (): Promise<void> => driver.disconnect().catch(() => undefined)
  try {
    addTimeLimit(driver, lock.timeLimit)
    const runner = driver.createQueryRunner('slave') as SqliteRunner
    if (runner.stmtCache !== undefined) runner.stmtCache = new PreparedStatements()
    const [mode] = await runner.query('PRAGMA journal_mode')
    if (Object(mode).journal_mode === 'wal') return { runner: lockRunner(runner, driver, lock), close }
  } catch {
    // For example SQLITE_BUSY.
  }
  await close()
  return undefined
}

async function connect(dataSource: DataSource, database: string): Promise<SqliteDriver> {
  const { prepareDatabase } = dataSource.options as { readonly prepareDatabase?: (connection: Closable) => unknown }
  let opened: Closable | undefined
  const options = {
    ...dataSource.options,
    database,
    enableWAL: false,
    // For better-sqlite3. It would block the process while it waits for a lock of SQLite.
    readonly: true,
    fileMustExist: true,
    timeout: 0,
    prepareDatabase: (connection: Closable) => {
      opened = connection
      return prepareDatabase?.(connection)
    },
    // For sqlite3.
    flags: readOnlyFlags,
    busyErrorRetry: undefined,
  }
  const DriverClass = dataSource.driver.constructor as new (dataSource: DataSource) => SqliteDriver
  const driver = new DriverClass(Object.create(dataSource, { options: { value: options } }))
  try {
    await driver.connect()
  } catch (error) {
    // If `prepareDatabase` throws, TypeORM does not close the connection.
    opened?.close()
    throw error
  }
  return driver
}

/** A connection of better-sqlite3. */
interface Closable {
  readonly close: () => unknown
}
