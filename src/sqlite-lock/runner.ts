import type { Driver, QueryRunner } from 'typeorm'
import { type Connection, type PreparedStatement, rollBackDirectly, wasRolledBack } from '../dialect/sqlite/connection'
import { interruptAfter } from '../dialect/sqlite/time-limit'
import { isServiceStatement } from '../dialect/statement-comment'
import { acquire, type Release, type SqliteLock, SqliteLockError, tryAcquireOne } from './lock'
import { bindToScope, currentScope } from './transaction-scope'

/** TypeORM's driver for SQLite with the members that its interface `Driver` does not declare. */
export type SqliteDriver = Driver & { queryRunner?: SqliteRunner | undefined; readonly databaseConnection?: Connection }

/** Query runner of that driver, with its undeclared and writable members. */
export interface SqliteRunner extends Omit<QueryRunner, 'broadcaster' | 'isReleased' | 'isTransactionActive'> {
  broadcaster: QueryRunner['broadcaster']
  isReleased: boolean
  isTransactionActive: boolean
  transactionDepth: number
  stmtCache?: Map<string, PreparedStatement>
}

/** White space and comments before a statement. */
const leading = String.raw`^(?:\s|--[^\n]*\n|/\*.*?\*/)*`
const beginPattern = new RegExp(String.raw`${leading}(?:BEGIN\b|SAVEPOINT\s+(\S+))`, 'is')
const endPattern = new RegExp(String.raw`${leading}(?:COMMIT\b|END\b|ROLLBACK\b(?!\s+(?:TRANSACTION\s+)?TO\b))`, 'is')
const releasePattern = new RegExp(String.raw`${leading}RELEASE\s+(?:SAVEPOINT\s+)?(\S+)`, 'is')
const rollbackPattern = new RegExp(String.raw`${leading}ROLLBACK\b`, 'is')

/** Matches lists and counts of this service, which may read many rows. Its other statements find rows by their keys. */
const listPattern = /^\s*SELECT\b.*(?:\bLIMIT \?|\bCOUNT\(\*\))/s

/**
 * Makes a query runner acquire the lock: during a statement, from BEGIN to the end of the transaction, or during a
 * migration.
 * @param preinstalled only for the query runner that TypeORM shared before the lock was installed: the lock that it
 * holds already, if it is in a transaction. This query runner stays usable after `release()`.
 */
export function lockRunner(
  runner: SqliteRunner,
  driver: SqliteDriver,
  lock: SqliteLock,
  preinstalled?: { readonly release: Release | undefined },
): QueryRunner {
  const { broadcaster } = runner
  const query: QueryRunner['query'] = runner.query.bind(runner)
  const [release, beforeMigration, afterMigration] = [
    runner.release.bind(runner),
    runner.beforeMigration.bind(runner),
    runner.afterMigration.bind(runner),
  ]
  let releaseHeldLock = preinstalled?.release
  /** Name of the savepoint that began the transaction; undefined if it began with BEGIN. */
  let savepoint: string | undefined
  let isMigrating = false

  const acquireLock = async (): Promise<void> => {
    const scope = currentScope()
    const releaseAcquired = await acquire(lock, 'exclusive')
    if (runner.isReleased) {
      releaseAcquired()
      throw new SqliteLockError('this query runner was released while it waited for the connection')
    }
    releaseHeldLock = releaseAcquired
    lock.holder = scope
    runner.broadcaster = bindToScope(broadcaster, scope)
  }
  const releaseLock = (): void => {
    lock.holder = undefined
    runner.broadcaster = broadcaster
    isMigrating = false
    releaseHeldLock?.()
    releaseHeldLock = undefined
  }
  const abort = async (): Promise<void> => {
    await rollBackDirectly(driver.databaseConnection)
    // TypeORM does not call afterMigration if a migration has failed: foreign keys would stay unchecked on this
    // connection.
    if (isMigrating) await afterMigration().catch(() => undefined)
    runner.isTransactionActive = false
    runner.transactionDepth = 0
    releaseLock()
  }
  const runBegin = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    await acquireLock().catch((error: unknown) => {
      // TypeORM has set this flag already, before BEGIN.
      runner.isTransactionActive = false
      throw error
    })
    savepoint = beginPattern.exec(sql)?.[1]
    return run().catch(async (error: unknown) => {
      await abort()
      throw error
    })
  }
  const isEnd = (sql: string): boolean =>
    !isMigrating && (endPattern.test(sql) || (savepoint !== undefined && releasePattern.exec(sql)?.[1] === savepoint))
  const runEnd = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    try {
      const result = await run()
      releaseLock()
      return result
    } catch (error) {
      // After a failed COMMIT the transaction is open until the caller rolls it back. A failed ROLLBACK must not leave
      // it open.
      if (rollbackPattern.test(sql)) await abort()
      throw error
    }
  }
  runner.query = (async (sql: string, ...parameters: never[]) => {
    const isServiceSql = isServiceStatement(sql)
    const run = (): Promise<unknown> =>
      isServiceSql
        ? interruptAfter(driver.databaseConnection, lock.timeLimit, () => query(sql, ...parameters))
        : query(sql, ...parameters)
    if (releaseHeldLock !== undefined) {
      if (isEnd(sql)) return runEnd(sql, run)
      if (wasRolledBack(driver.databaseConnection) && !isMigrating)
        throw new SqliteLockError(
          'SQLite itself has rolled back this transaction, for example because the disk is full',
        )
      return run()
    }
    // Statements of this service never begin or end transactions.
    if (!isServiceSql) {
      if (beginPattern.test(sql)) return runBegin(sql, run)
      // It would end the transaction of another query runner.
      if (endPattern.test(sql))
        throw new SqliteLockError(
          'there is no transaction to end: each call of dataSource.query has its own query runner; ' +
            'use dataSource.transaction',
        )
    }
    const isExclusive = isServiceSql && lock.listsAreExclusive && listPattern.test(sql)
    const releaseStatement = isExclusive
      ? await acquire(lock, 'exclusive')
      : (tryAcquireOne(lock) ?? (await acquire(lock, 'shared')))
    try {
      return await run()
    } finally {
      releaseStatement()
    }
  }) as QueryRunner['query']
  // beforeMigration turns off the check of foreign keys for all that share this connection.
  runner.beforeMigration = async () => {
    if (releaseHeldLock === undefined) {
      await acquireLock()
      isMigrating = true
    }
    await beforeMigration()
  }
  runner.afterMigration = async () => {
    await afterMigration()
    if (isMigrating) releaseLock()
  }
  runner.release = async () => {
    if (releaseHeldLock !== undefined) await abort()
    runner.isReleased = preinstalled === undefined
    return release()
  }
  return runner as QueryRunner
}
