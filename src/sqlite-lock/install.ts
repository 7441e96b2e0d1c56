/**
 * TypeORM has one query runner for a SQLite data source, and with it one transaction for all requests: what one begins, another
 * commits; what one saves, another rolls back, after it was answered. SQLite itself could serve them in connections of their
 * own, but a second one freezes the process while it waits, and `:memory:` has only one. So all share the connection, and take
 * turns: docs/explanations/sqlite-lock.md has a program that shows it, and the report to TypeORM.
 */
import type { DataSource, Driver, QueryRunner } from 'typeorm'
import { keepStatements } from '../dialect/prepared-statements'
import type { PreparedStatement } from '../dialect/sqlite/connection'
import { isOurs } from '../dialect/statement-comment'
import { newTurns, type SqliteLock, takeAll } from './lock'
import { lockRunner, type SqliteDriver, type SqliteRunner } from './runner'
import { scopeTransactions } from './transaction-scope'

/** How long, in milliseconds, a statement or transaction waits for the connection. */
export interface SqliteLockOptions {
  /** Default: 5,000. */
  readonly waitLimit?: number
}

/** Those that are locked, each with the runner that its statements outside of transactions share. */
const locked = new WeakMap<Driver, QueryRunner>()

/** A query runner for a statement outside of a transaction, which is not released; undefined where each needs a connection. */
export function standingRunner({ driver }: DataSource): QueryRunner | undefined {
  return locked.get(driver)
}

/**
 * Statements outside of transactions that may run at the same time with better-sqlite3, which runs each of them in one piece. sqlite3 runs
 * one: it runs statements in threads, and while one thread works, the next call on the connection blocks the event loop until it has
 * finished, so that no timer could end it.
 */
const parallelStatements = 64

/**
 * Has transactions on a SQLite data source wait for each other, and statements outside of them for their end; statements alone
 * run side by side. Covers the application's own repositories, transactions, query runners and migrations too. `mountResources`
 * does it by itself; a second time does nothing, its limit included, and on other databases it never does.
 * @param timeLimit milliseconds that a statement of a mount may take in `sqlite3`, for `mountResources`
 * @throws {SqliteLockError} from a statement or transaction that waits longer than the limit
 */
export function lockSqlite(
  dataSource: DataSource,
  { waitLimit = 5000 }: SqliteLockOptions = {},
  timeLimit = Number.POSITIVE_INFINITY,
): void {
  const driver: SqliteDriver = dataSource.driver
  if (!['sqlite', 'better-sqlite3'].includes(dataSource.options.type) || locked.has(driver)) return
  const places = dataSource.options.type === 'better-sqlite3' ? parallelStatements : 1
  const lock: SqliteLock = { waitLimit, timeLimit, turns: newTurns(places), holder: undefined }
  const statements = new PreparedStatements()
  const remembered = driver.queryRunner
  const create = driver.createQueryRunner.bind(driver)
  driver.createQueryRunner = (mode) => {
    // TypeORM hands out the one that it remembers.
    driver.queryRunner = undefined
    const runner = create(mode) as SqliteRunner
    driver.queryRunner = undefined
    if (runner.stmtCache !== undefined) runner.stmtCache = statements
    return lockRunner(runner, driver, lock)
  }
  locked.set(driver, driver.createQueryRunner('master'))
  const disconnect = driver.disconnect.bind(driver)
  driver.disconnect = async () => {
    await disconnect()
    // What was begun on a connection, or prepared, ends with it.
    statements.clear()
    Object.assign(lock, { turns: newTurns(places), holder: undefined })
  }
  scopeTransactions(dataSource.manager)
  if (remembered === undefined) return
  driver.queryRunner = remembered
  // Who has the one runner of before may be in the middle of a transaction.
  const give = remembered.isTransactionActive ? takeAll(lock) : undefined
  lockRunner(remembered, driver, lock, { give })
}

/**
 * The prepared statements of a connection of better-sqlite3, in the place of TypeORM's Map, which is limited by their number alone. Arrays
 * are made faster than objects, and our own statements take either.
 */
class PreparedStatements extends Map<string, PreparedStatement> {
  readonly #kept = keepStatements<PreparedStatement>((_, sql) => super.delete(sql))

  override get(sql: string): PreparedStatement | undefined {
    return this.#kept.get(sql)
  }

  override set(sql: string, statement: PreparedStatement): this {
    const prepared = statement.reader && isOurs(sql) ? statement.raw() : statement
    this.#kept.set(sql, prepared)
    return this.#kept.has(sql) ? super.set(sql, prepared) : this
  }

  override delete(sql: string): boolean {
    return this.#kept.delete(sql)
  }

  override clear(): void {
    this.#kept.clear()
  }
}
