import { hasBlocked, pauseAfterLongStatement } from '../dialect/sqlite/time-limit'
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
}

/**
 * Runs a statement when the connection is free. During a long transaction, a read of this service runs on the second
 * connection instead, if there is one.
 */
export async function runWhenFree(lock: SqliteLock, statement: WaitingStatement): Promise<unknown> {
  const { sql, parameters, run, isServiceSql, use } = statement
  if (isServiceSql && lock.readConnection !== undefined && selectPattern.test(sql)) {
    const acquired = await acquireUnblocked(lock, use, () => readConnectionOf(lock))
    if (typeof acquired === 'function') return runAndRelease(run, acquired)
    const read = await acquired.query(sql, parameters)
    if (read !== undefined) return read.result
  }
  return runAndRelease(run, await acquireUnblocked(lock, use))
}

/**
 * Acquires the connection, or its alternative, in an iteration of the event loop that no statement has blocked. Otherwise all
 * statements that have waited for the same transaction would run without a pause.
 */
async function acquireUnblocked<T extends object = never>(
  lock: SqliteLock,
  use: WaitingStatement['use'],
  alternative?: () => T | undefined,
): Promise<Release | T> {
  for (;;) {
    const acquired = await acquire(lock, use, alternative)
    if (!hasBlocked()) return acquired
    if (typeof acquired === 'function') acquired()
    await pauseAfterLongStatement()
  }
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
