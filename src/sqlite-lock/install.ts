/**
 * Installs a lock on the connection of a SQLite data source. TypeORM has a single query runner for such a data source,
 * and with it one transaction for all requests: one request can commit the transaction of another, or roll back what
 * another has saved and confirmed to its client. A connection for each request is not possible: a second connection
 * blocks the whole process while it waits, and `:memory:` cannot have one. `docs/explanations/sqlite-lock.md` contains
 * a program that reproduces the problem, and the report to TypeORM.
 */
import type { DataSource, Driver, QueryRunner } from 'typeorm'
import { newPreparedStatementCache } from '../dialect/prepared-statements'
import type { PreparedStatement } from '../dialect/sqlite/connection'
import { timeAlone } from '../dialect/sqlite/time-limit'
import { isServiceStatement } from '../dialect/statement-comment'
import { acquireAll, newLockState, type SqliteLock } from './lock'
import { lockRunner, type SqliteDriver, type SqliteRunner } from './runner'
import { scopeTransactions } from './transaction-scope'

export interface SqliteLockOptions {
  /** How long, in milliseconds, a statement or transaction waits for the connection. Default: 5,000. */
  readonly waitLimit?: number
}

/** Drivers with a lock, each with the query runner that statements outside of transactions share. */
const sharedRunners = new WeakMap<Driver, QueryRunner>()

/**
 * The query runner that all statements outside of transactions share on SQLite, which is never released; undefined if
 * the data source has no lock, as on other databases.
 */
export function sharedRunner({ driver }: DataSource): QueryRunner | undefined {
  return sharedRunners.get(driver)
}

/**
 * Installs a lock on the connection of a SQLite data source: transactions run one at a time, and statements outside of
 * a transaction wait for its end. The lock also applies to the application's own repositories, transactions, query
 * runners and migrations. A statement or transaction that waits longer than `waitLimit` throws a {@link SqliteLockError}.
 * `mountResources` calls this function. A second call has no effect, even with another limit, nor has a call for another
 * database.
 * @param timeLimit time limit, in milliseconds, for statements of this service on `sqlite3`; set by `mountResources`
 */
export function lockSqlite(
  dataSource: DataSource,
  { waitLimit = 5000 }: SqliteLockOptions = {},
  timeLimit = Number.POSITIVE_INFINITY,
): void {
  const driver: SqliteDriver = dataSource.driver
  if (!['sqlite', 'better-sqlite3'].includes(dataSource.options.type) || sharedRunners.has(driver)) return
  const listsAreExclusive = dataSource.options.type !== 'better-sqlite3'
  const lock: SqliteLock = { waitLimit, timeLimit, listsAreExclusive, state: newLockState(), holder: undefined }
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
  sharedRunners.set(driver, driver.createQueryRunner('master'))
  const disconnect = driver.disconnect.bind(driver)
  driver.disconnect = async () => {
    await disconnect()
    // Transactions and prepared statements end with their connection.
    statements.clear()
    Object.assign(lock, { state: newLockState(), holder: undefined })
  }
  scopeTransactions(dataSource.manager)
  if (preinstalledRunner === undefined) return
  driver.queryRunner = preinstalledRunner
  // The application may already use this query runner, even in a transaction.
  const release = preinstalledRunner.isTransactionActive ? acquireAll(lock) : undefined
  lockRunner(preinstalledRunner, driver, lock, { release })
}

/**
 * Cache of the prepared statements of a better-sqlite3 connection. Replaces TypeORM's Map, which limits only their
 * number. Statements of this service return rows as arrays, which better-sqlite3 creates faster than objects.
 */
class PreparedStatements extends Map<string, PreparedStatement> {
  readonly #cache = newPreparedStatementCache<PreparedStatement>((_, sql) => super.delete(sql))

  override get(sql: string): PreparedStatement | undefined {
    return this.#cache.get(sql)
  }

  override set(sql: string, statement: PreparedStatement): this {
    const prepared = statement.reader && isServiceStatement(sql) ? timeAlone(statement.raw(), sql) : statement
    this.#cache.set(sql, prepared)
    return this.#cache.has(sql) ? super.set(sql, prepared) : this
  }

  override delete(sql: string): boolean {
    return this.#cache.delete(sql)
  }

  override clear(): void {
    this.#cache.clear()
  }
}
