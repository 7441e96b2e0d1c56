import { acquire, type ReadConnection, type SqliteLock } from './lock'
import type { Release, Use } from './lock-queue'
import type { Sender } from './sender'
import { selectPattern } from './statement-patterns'

/** A statement outside of transactions. */
export interface WaitingStatement {
  readonly sql: string
  readonly parameters: readonly never[]
  /** Runs it on the connection that the lock protects. */
  readonly run: () => Promise<unknown>
  readonly isServiceSql: boolean
  readonly use: Use
}

/**
 * Runs a statement when the connection is free. During a long transaction, a read of this service runs on the second
 * connection instead, if there is one.
 */
export async function runWhenFree(
  lock: SqliteLock,
  sender: Sender | undefined,
  statement: WaitingStatement,
): Promise<unknown> {
  const { sql, parameters, run, isServiceSql, use } = statement
  if (!isServiceSql) return runAndRelease(run, await acquire(lock, sender, use))
  if (lock.readConnection !== undefined && selectPattern.test(sql)) {
    const acquired = await acquire(lock, sender, use, () => readConnectionOf(lock))
    if (typeof acquired === 'function') return runAndRelease(run, acquired)
    const read = await acquired.query(sender, sql, parameters)
    if (read !== undefined) return read.result
  }
  return runAndRelease(run, await acquire(lock, sender, use))
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
