/**
 * Installs a lock on the connection of a SQLite data source. TypeORM has a single query runner for such a data source,
 * and with it one transaction for all requests: one request can commit the transaction of another, or roll back what
 * another has saved and confirmed to its client. A connection for each request is not possible: a second one that
 * writes blocks the whole process while it waits, and `:memory:` cannot have one. `docs/explanations/sqlite-lock.md` contains
 * a program that reproduces the problem, and the report to TypeORM.
 */
import type { DataSource, Driver, QueryRunner } from 'typeorm'
import { sharedByCopies } from '../shared-state'
import { newLock, type SqliteLock } from './lock'
import { PreparedStatements } from './prepared-statements'
import { databaseFile, openReadOnly, ReadOnlyConnection } from './read-connection'
import { lockRunner, type SqliteDriver, type SqliteRunner } from './runner'
import { runSharing, scopeTransactions } from './transaction-scope'

export interface SqliteLockOptions {
  /** How long, in milliseconds, a statement or transaction waits for the connection. Default: 5,000. */
  readonly waitLimit?: number
}

/** The lock of a driver, and the query runner that statements outside of transactions share. */
interface InstalledLock {
  readonly lock: SqliteLock
  readonly sharedRunner: QueryRunner
}

const installedLocks = sharedByCopies('sqliteLocks', () => new WeakMap<Driver, InstalledLock>())

/**
 * The query runner that all statements outside of transactions share on SQLite, which is never released; undefined if
 * the data source has no lock, as on other databases.
 */
export function sharedRunner({ driver }: DataSource): QueryRunner | undefined {
  return installedLocks.get(driver)?.sharedRunner
}

/**
 * Installs a lock on the connection of a SQLite data source: transactions run one at a time, and statements outside of
 * a transaction wait for its end. The lock also applies to the application's own repositories, transactions, query
 * runners and migrations. A statement or transaction that waits longer than `waitLimit` throws a {@link SqliteLockError}.
 * `mountResources` calls this function. A second call has no effect, even with another `waitLimit`, nor has a call for another
 * database.
 * @param timeLimit time limit, in milliseconds, for statements of this service on `sqlite3`; set by `mountResources`. It
 * is added to `waitLimit` if no transaction holds the connection, but statements
 */
export function lockSqlite(
  dataSource: DataSource,
  { waitLimit = 5000 }: SqliteLockOptions = {},
  timeLimit = Number.POSITIVE_INFINITY,
): void {
  const driver: SqliteDriver = dataSource.driver
  if (!['sqlite', 'better-sqlite3'].includes(dataSource.options.type)) return
  const installed = installedLocks.get(driver)
  if (installed !== undefined) {
    installed.lock.timeLimit = Math.min(installed.lock.timeLimit, timeLimit)
    return
  }
  const usesThreads = dataSource.options.type !== 'better-sqlite3'
  const lock = newLock({ waitLimit, timeLimit }, usesThreads)
  const statements = new PreparedStatements()
  const preinstalledRunner = driver.queryRunner
  const createQueryRunner = driver.createQueryRunner.bind(driver)
  driver.createQueryRunner = (mode) => {
    // TypeORM returns `driver.queryRunner` if it is set, and sets it to the query runner that it creates.
    driver.queryRunner = undefined
    const runner = createQueryRunner(mode) as SqliteRunner
    driver.queryRunner = undefined
    if (runner.stmtCache !== undefined) runner.stmtCache = statements
    return lockRunner(runner, driver, lock)
  }
  installedLocks.set(driver, { lock, sharedRunner: driver.createQueryRunner('master') })
  const disconnect = driver.disconnect.bind(driver)
  driver.disconnect = async () => {
    const { readConnection } = lock
    // A read must not open it again.
    lock.readConnection = undefined
    // The last connection that is closed removes the files of the WAL mode, which a read-only one cannot do.
    await readConnection?.close()
    await disconnect()
    // Transactions and prepared statements end with their connection.
    statements.clear()
    Object.assign(lock, newLock(lock, usesThreads))
  }
  scopeTransactions(dataSource.manager)
  if (preinstalledRunner === undefined) return
  driver.queryRunner = preinstalledRunner
  // The application may already use this query runner, even in a transaction.
  const release = preinstalledRunner.isTransactionActive ? lock.queue.takeAll() : undefined
  lockRunner(preinstalledRunner, driver, lock, { release })
}

/**
 * Runs a part of the current transaction that calls validators and access rules. They have no entity manager, so their
 * statements through the data source run in this transaction: they would wait for its end otherwise, and the transaction for
 * them. This does not apply to listeners, which have the manager of their event.
 */
export function shareTransaction<T>({ driver }: DataSource, work: () => T): T {
  const holder = installedLocks.get(driver)?.lock.holder
  return holder === undefined ? work() : runSharing(holder, work)
}

/**
 * Lets the reads of this service run on a second, read-only connection while a transaction holds the first one for long. To
 * be called when the data source has been initialized. Has no effect without a lock, and for a database in memory.
 * @param timeLimit time limit, in milliseconds, for statements of this service
 */
export function allowReadsDuringTransactions(dataSource: DataSource, timeLimit: number): void {
  const installed = installedLocks.get(dataSource.driver)
  if (installed === undefined || dataSource.options.database === ':memory:') return
  const { lock, sharedRunner } = installed
  if (lock.readConnection !== undefined) return
  const { waitLimit, usesThreads } = lock
  const reading = databaseFile(sharedRunner).catch(() => undefined)
  lock.readConnection = new ReadOnlyConnection(async () => {
    const file = await reading
    return file === undefined
      ? undefined
      : openReadOnly(dataSource, file, newLock({ waitLimit, timeLimit }, usesThreads))
  })
}
