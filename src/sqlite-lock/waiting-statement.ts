import { hasBlocked } from '../dialect/sqlite/time-limit'
import { acquire, type ReadConnection, type Release, type SqliteLock } from './lock'
import { selectPattern } from './statement-patterns'

/** A statement outside of transactions. */
export interface WaitingStatement {
  readonly sql: string
  readonly parameters: readonly never[]
  /** Runs it on the connection that the lock protects. */
  readonly run: () => Promise<unknown>
  readonly isServiceSql: boolean
  /** Whether it shares the connection with other statements. */
  readonly use: 'shared' | 'exclusive'
  /** Whether it has waited for a turn. */
  readonly hasTurn: boolean
}

/** Result of a statement of this service that was not run, because it must wait for a turn. */
export const notRun = Symbol('not run')

/**
 * Runs a statement when the connection is free. During a long transaction, a read of this service runs on the second
 * connection instead, if there is one.
 */
export async function runWhenFree(lock: SqliteLock, statement: WaitingStatement): Promise<unknown> {
  const { sql, parameters, run, isServiceSql } = statement
  if (!isServiceSql) return runAndRelease(run, await acquire(lock, statement.use))
  // better-sqlite3 runs statements one after the other anyway. If they share the connection, all that wait for a transaction would
  // continue at the same time, before the first of them can block the event loop.
  const use = lock.listsAreExclusive ? statement.use : 'exclusive'
  if (lock.readConnection !== undefined && selectPattern.test(sql)) {
    const acquired = await acquire(lock, use, () => readConnectionOf(lock))
    if (typeof acquired === 'function') return runOrRelease(lock, statement, acquired)
    if (hasBlocked() && !statement.hasTurn) return notRun
    const read = await acquired.query(sql, parameters)
    if (read !== undefined) return read.result
  }
  return runOrRelease(lock, statement, await acquire(lock, use))
}

async function runOrRelease(lock: SqliteLock, statement: WaitingStatement, release: Release): Promise<unknown> {
  if (!mustTakeTurn(lock, statement)) return runAndRelease(statement.run, release)
  release()
  return notRun
}

/** Whether a statement that has waited for a transaction must let those of other clients run first. */
function mustTakeTurn({ listsAreExclusive, state }: SqliteLock, { hasTurn }: WaitingStatement): boolean {
  return !hasTurn && (hasBlocked() || (listsAreExclusive && state.waiting > 0))
}

async function runAndRelease(run: () => Promise<unknown>, release: Release): Promise<unknown> {
  try {
    return await run()
  } finally {
    release()
  }
}

/** Time after which reads of this service do not wait any longer for a transaction, in milliseconds. */
const longTransactionMs = 20

/**
 * The second connection, if a long transaction holds the first one. Other reads do not use it, because opening it and
 * filling its cache take longer than a short transaction.
 */
function readConnectionOf({ transactionStart, readConnection }: SqliteLock): ReadConnection | undefined {
  if (readConnection === undefined || transactionStart === undefined) return undefined
  return performance.now() - transactionStart > longTransactionMs && readConnection.isReady()
    ? readConnection
    : undefined
}
