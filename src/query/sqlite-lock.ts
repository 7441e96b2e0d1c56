/**
 * TypeORM has one query runner for a SQLite data source, and with it one transaction for all requests: what one begins, another
 * commits; what one saves, another rolls back, after it was answered. SQLite itself could serve them in connections of their
 * own, but a second one freezes the process while it waits, and `:memory:` has only one. So all share the connection, and take
 * turns: docs/explanations/sqlite-lock.md has a program that shows it, and the report to TypeORM.
 */
import { E_TIMEOUT, Semaphore, type SemaphoreInterface, withTimeout } from 'async-mutex'
import type { DataSource, Driver, QueryRunner } from 'typeorm'
import { currentScope, inScope, isWithin, scopeTransactions, type TransactionScope } from './transaction-scope'

/** How long, in milliseconds, a statement or transaction waits for the connection. */
export interface SqliteLockOptions {
  /** Default: 5,000. */
  readonly waitLimit?: number
}

/** The one connection of a SQLite data source was held by a transaction for longer than the wait limit. */
export class SqliteLockError extends Error {
  override readonly name = 'SqliteLockError'
}

/** Statements that may run side by side; a transaction takes all of the places. */
const places = 64
/** What waits for a transaction that it is itself a part of would wait for ever: it need not wait long, in milliseconds. */
const innerWaitLimit = 1000

const begins = /^\s*BEGIN\b/i
const ends = /^\s*(?:COMMIT\b|END\b|ROLLBACK\b(?!\s+(?:TRANSACTION\s+)?TO\b))/i
const rollsBack = /^\s*ROLLBACK\b/i

type Give = () => void

interface Lock {
  readonly semaphore: SemaphoreInterface
  readonly waitLimit: number
  /** Whose transaction holds the connection. */
  holder: TransactionScope | undefined
}

/** What TypeORM's drivers and runners for SQLite have besides their interfaces. */
type SqliteDriver = Driver & { queryRunner?: SqliteRunner | undefined; readonly databaseConnection?: object }
interface SqliteRunner extends Omit<QueryRunner, 'broadcaster' | 'isTransactionActive'> {
  broadcaster: QueryRunner['broadcaster']
  isTransactionActive: boolean
  transactionDepth: number
  stmtCache?: Map<string, unknown>
}

const locked = new WeakSet<Driver>()

/** Whether TypeORM has one connection for all. */
function isSqlite({ options }: DataSource): boolean {
  return ['sqlite', 'better-sqlite3'].includes(options.type)
}

/**
 * Has transactions on a SQLite data source wait for each other, and statements outside of them for their end; statements alone
 * run side by side. Covers the application's own repositories, transactions and query runners too. `mountResources` does it by
 * itself; a second time does nothing, its limit included, and on other databases it never does.
 * @throws {SqliteLockError} from a statement or transaction that waits longer than the limit
 */
export function lockSqlite(dataSource: DataSource, { waitLimit = 5000 }: SqliteLockOptions = {}): void {
  const driver: SqliteDriver = dataSource.driver
  if (!isSqlite(dataSource) || locked.has(driver)) return
  locked.add(driver)
  const lock: Lock = { semaphore: new Semaphore(places), waitLimit, holder: undefined }
  const share = shareStatements(driver)
  const create = driver.createQueryRunner.bind(driver)
  driver.createQueryRunner = (mode) => {
    // TypeORM hands out the one that it remembers.
    driver.queryRunner = undefined
    const runner = create(mode) as SqliteRunner
    driver.queryRunner = undefined
    share(runner)
    return guard(runner, lock)
  }
  if (driver.queryRunner !== undefined) guard(driver.queryRunner, lock)
  scopeTransactions(dataSource.manager)
}

/** Prepared statements are those of a connection, which may be closed and opened again. */
function shareStatements(driver: SqliteDriver): (runner: SqliteRunner) => void {
  const statements = new WeakMap<object, Map<string, unknown>>()
  return (runner) => {
    const { databaseConnection } = driver
    if (databaseConnection === undefined || runner.stmtCache === undefined) return
    runner.stmtCache = statements.get(databaseConnection) ?? runner.stmtCache
    statements.set(databaseConnection, runner.stmtCache)
  }
}

/** Has a query runner take the lock: for the time of a statement, or from BEGIN to the end of the transaction. */
function guard(runner: SqliteRunner, lock: Lock): QueryRunner {
  const query: QueryRunner['query'] = runner.query.bind(runner)
  const { broadcaster } = runner
  const release = runner.release.bind(runner)
  let give: Give | undefined
  const giveBack = (): void => {
    lock.holder = undefined
    give?.()
    give = undefined
  }
  const begin = async <T>(run: () => Promise<T>): Promise<T> => {
    const scope = currentScope()
    try {
      give = await acquire(lock, places)
    } catch (error) {
      // TypeORM believes that it has begun.
      runner.isTransactionActive = false
      throw error
    }
    lock.holder = scope
    runner.broadcaster = inScope(broadcaster, scope)
    return run().catch((error: unknown) => {
      runner.isTransactionActive = false
      giveBack()
      throw error
    })
  }
  const end = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    try {
      const result = await run()
      giveBack()
      return result
    } catch (error) {
      // After a COMMIT that has failed there is something to roll back; after a ROLLBACK there is nothing.
      if (rollsBack.test(sql)) giveBack()
      throw error
    }
  }
  runner.query = (async (sql: string, ...others: never[]) => {
    const run = (): Promise<unknown> => query(sql, ...others)
    if (give !== undefined) return ends.test(sql) ? end(sql, run) : run()
    if (begins.test(sql)) return begin(run)
    // It would be the end of somebody else's.
    if (ends.test(sql)) throw new SqliteLockError('there is no transaction to end')
    const giveOne = await acquire(lock, 1)
    return run().finally(giveOne)
  }) as QueryRunner['query']
  runner.release = async () => {
    if (give !== undefined) {
      await runner.query('ROLLBACK').catch(() => undefined)
      runner.isTransactionActive = false
      runner.transactionDepth = 0
    }
    return release()
  }
  return runner
}

async function acquire({ semaphore, holder, waitLimit }: Lock, weight: number): Promise<Give> {
  const isInner = holder !== undefined && isWithin(holder)
  const limit = isInner ? Math.min(innerWaitLimit, waitLimit) : waitLimit
  try {
    const [, give] = await withTimeout(semaphore, limit).acquire(weight)
    return give
  } catch (error) {
    if (error !== E_TIMEOUT) throw error
    throw new SqliteLockError(
      isInner
        ? 'a statement outside of a transaction waits for the transaction that has called it; inside of one, use its own ' +
            'EntityManager, in a subscriber event.manager'
        : `a transaction has held the one connection of this SQLite data source for ${limit} ms`,
    )
  }
}
