import type { Driver, EntitySubscriberInterface, QueryRunner } from 'typeorm'
import { type Connection, type PreparedStatement, rollBackDirectly, wasRolledBack } from '../dialect/sqlite/connection'
import { interruptAfter } from '../dialect/sqlite/time-limit'
import { isServiceStatement } from '../dialect/statement-comment'
import { acquire, type SqliteLock } from './lock'
import { SqliteLockError } from './lock-error'
import type { Release } from './lock-queue'
import { senderOf } from './sender'
import {
  beginPattern,
  endPattern,
  listPattern,
  modePattern,
  releasePattern,
  rollbackPattern,
} from './statement-patterns'
import { noteSender } from './statement-pauses'
import { bindToScope, currentScope, sharesScope } from './transaction-scope'
import { runWhenFree } from './waiting-statement'

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
  const locked = runner as QueryRunner
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
    const releaseAcquired = await acquire(lock, senderOf(locked), 'exclusive')
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
    lock.transactionStart = undefined
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
    lock.transactionStart = performance.now()
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
    const runQuery = (): Promise<unknown> => query(sql, ...parameters)
    const run = (): Promise<unknown> => {
      if (isServiceSql) return interruptAfter(driver.databaseConnection, lock.timeLimit, runQuery)
      const { readConnection } = lock
      const needsSoleConnection = readConnection !== undefined && modePattern.test(sql)
      return needsSoleConnection ? readConnection.close().then(runQuery) : runQuery()
    }
    const sender = senderOf(locked)
    if (releaseHeldLock !== undefined) {
      noteSender(sender)
      if (isEnd(sql)) return runEnd(sql, run)
      if (!isMigrating) requireNotRolledBack(driver)
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
    if (lock.holder !== undefined && sharesScope(lock.holder)) {
      requireNotRolledBack(driver)
      return run()
    }
    const needsSoleUse = !lock.usesThreads || (isServiceSql && listPattern.test(sql))
    const use = needsSoleUse && !runner.connection.subscribers.some(observesQueries) ? 'exclusive' : 'shared'
    const releaseStatement = lock.queue.tryAcquire(use, sender)
    if (releaseStatement === undefined) return runWhenFree(lock, sender, { sql, parameters, run, isServiceSql, use })
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
  return locked
}

/** Whether TypeORM calls a subscriber during each statement. A statement of the subscriber must not wait for the end of this one. */
function observesQueries({ beforeQuery, afterQuery }: EntitySubscriberInterface): boolean {
  return beforeQuery !== undefined || afterQuery !== undefined
}

/** @throws {SqliteLockError} if the transaction is over, so that the statement would be committed on its own */
function requireNotRolledBack({ databaseConnection }: SqliteDriver): void {
  if (!wasRolledBack(databaseConnection)) return
  throw new SqliteLockError('SQLite itself has rolled back this transaction, for example because the disk is full')
}
