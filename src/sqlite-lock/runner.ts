import type { Driver, QueryRunner } from 'typeorm'
import { type Connection, hasEnded, type PreparedStatement, rollBackPast } from '../dialect/sqlite/connection'
import { interruptAfter } from '../dialect/sqlite/time-limit'
import { isOurs } from '../dialect/statement-comment'
import { acquire, type Release, type SqliteLock, SqliteLockError, takeOne } from './lock'
import { currentScope, inScope } from './transaction-scope'

/** What TypeORM's driver for SQLite has besides its interface. */
export type SqliteDriver = Driver & { queryRunner?: SqliteRunner | undefined; readonly databaseConnection?: Connection }

/** What its query runner has. */
export interface SqliteRunner extends Omit<QueryRunner, 'broadcaster' | 'isReleased' | 'isTransactionActive'> {
  broadcaster: QueryRunner['broadcaster']
  isReleased: boolean
  isTransactionActive: boolean
  transactionDepth: number
  stmtCache?: Map<string, PreparedStatement>
}

/** Blanks and comments before a statement. */
const before = String.raw`^(?:\s|--[^\n]*\n|/\*.*?\*/)*`
const begins = new RegExp(String.raw`${before}(?:BEGIN\b|SAVEPOINT\s+(\S+))`, 'is')
const ends = new RegExp(String.raw`${before}(?:COMMIT\b|END\b|ROLLBACK\b(?!\s+(?:TRANSACTION\s+)?TO\b))`, 'is')
const releases = new RegExp(String.raw`${before}RELEASE\s+(?:SAVEPOINT\s+)?(\S+)`, 'is')
const rollsBack = new RegExp(String.raw`${before}ROLLBACK\b`, 'is')

/**
 * Has a query runner take the lock: for the time of a statement, from BEGIN to the end of the transaction, or for a migration.
 * @param shared what the one runner of before has taken, which goes on when it is released
 */
export function lockRunner(
  runner: SqliteRunner,
  driver: SqliteDriver,
  lock: SqliteLock,
  shared?: { readonly give: Release | undefined },
): QueryRunner {
  const { broadcaster } = runner
  const query: QueryRunner['query'] = runner.query.bind(runner)
  const [release, beforeMigration, afterMigration] = [
    runner.release.bind(runner),
    runner.beforeMigration.bind(runner),
    runner.afterMigration.bind(runner),
  ]
  let held = shared?.give
  /** The savepoint that began the transaction, where it was one. */
  let savepoint: string | undefined
  let isMigrating = false

  const hold = async (): Promise<void> => {
    const scope = currentScope()
    const given = await acquire(lock, 'transaction')
    if (runner.isReleased) {
      given()
      throw new SqliteLockError('this query runner was released while it waited for the connection')
    }
    held = given
    lock.holder = scope
    runner.broadcaster = inScope(broadcaster, scope)
  }
  const giveBack = (): void => {
    lock.holder = undefined
    runner.broadcaster = broadcaster
    isMigrating = false
    held?.()
    held = undefined
  }
  const breakOff = async (): Promise<void> => {
    await rollBackPast(driver.databaseConnection)
    // TypeORM leaves it off when a migration has failed.
    if (isMigrating) await afterMigration().catch(() => undefined)
    runner.isTransactionActive = false
    runner.transactionDepth = 0
    giveBack()
  }
  const begin = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    await hold().catch((error: unknown) => {
      // TypeORM believes that it has begun.
      runner.isTransactionActive = false
      throw error
    })
    savepoint = begins.exec(sql)?.[1]
    return run().catch(async (error: unknown) => {
      await breakOff()
      throw error
    })
  }
  const isEnd = (sql: string): boolean =>
    !isMigrating && (ends.test(sql) || (savepoint !== undefined && releases.exec(sql)?.[1] === savepoint))
  const end = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    try {
      const result = await run()
      giveBack()
      return result
    } catch (error) {
      // After a COMMIT that has failed there is something to roll back, after a ROLLBACK there must be nothing.
      if (rollsBack.test(sql)) await breakOff()
      throw error
    }
  }
  runner.query = (async (sql: string, ...others: never[]) => {
    const isOwn = isOurs(sql)
    const run = (): Promise<unknown> =>
      isOwn
        ? interruptAfter(driver.databaseConnection, lock.timeLimit, () => query(sql, ...others))
        : query(sql, ...others)
    if (held !== undefined) {
      if (isEnd(sql)) return end(sql, run)
      if (hasEnded(driver.databaseConnection) && !isMigrating)
        throw new SqliteLockError('SQLite has ended this transaction by itself')
      return run()
    }
    // Ours begin and end nothing.
    if (!isOwn) {
      if (begins.test(sql)) return begin(sql, run)
      // It would be the end of somebody else's.
      if (ends.test(sql))
        throw new SqliteLockError(
          'there is no transaction to end: each dataSource.query has a query runner of its own; use dataSource.transaction',
        )
    }
    const giveOne = takeOne(lock) ?? (await acquire(lock, 'statement'))
    try {
      return await run()
    } finally {
      giveOne()
    }
  }) as QueryRunner['query']
  // It switches off the check of foreign keys, for everybody on this connection.
  runner.beforeMigration = async () => {
    if (held === undefined) {
      await hold()
      isMigrating = true
    }
    await beforeMigration()
  }
  runner.afterMigration = async () => {
    await afterMigration()
    if (isMigrating) giveBack()
  }
  runner.release = async () => {
    if (held !== undefined) await breakOff()
    runner.isReleased = shared === undefined
    return release()
  }
  return runner as QueryRunner
}
