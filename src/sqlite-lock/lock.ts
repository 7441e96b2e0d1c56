import { clientDisconnected } from '../errors'
import { within } from '../timers'
import { SqliteLockError } from './lock-error'
import { LockQueue, type Place, type Release, type Use } from './lock-queue'
import type { Sender } from './sender'
import { isInScope, type TransactionScope } from './transaction-scope'

/**
 * Time limit, in milliseconds, for a statement that is called inside the running transaction but not through it: it
 * waits for the transaction, which waits for it. It times out early, because the lock will not become free.
 */
const waitLimitInsideTransaction = 1000

/** Time between two calls of the alternative of a waiting statement, in milliseconds. */
const alternativeIntervalMs = 20

/** A second connection, for reads of this service while a long transaction holds the first one. */
export interface ReadConnection {
  /** Whether it is open. Otherwise begins to open it, if that is possible. */
  readonly isReady: () => boolean
  /**
   * Runs a statement, which sees all committed transactions.
   * @returns undefined if it has failed, other than by a limit, and must run on the first connection
   */
  readonly query: (
    sender: Sender | undefined,
    sql: string,
    parameters: readonly never[],
  ) => Promise<{ readonly result: unknown } | undefined>
  readonly close: () => Promise<void>
}

/** Limits of a lock, in milliseconds. */
export interface LockLimits {
  /** How long a statement or transaction waits for the connection. */
  readonly waitLimit: number
  /** Time limit for statements of this service. */
  timeLimit: number
}

/** The lock on the single connection of a data source. */
export interface SqliteLock extends LockLimits {
  /**
   * Whether statements run in threads: with sqlite3. Lists and counts of this service then use the connection alone: if another
   * statement ended while a long one is running, its clean-up would block the event loop until the long one has finished, and no timer
   * could interrupt that one.
   *
   * With better-sqlite3, all statements use it alone. Each blocks the event loop, and several that begin together would run one after the
   * other before the requests of other clients are handled.
   */
  readonly usesThreads: boolean
  /** A new connection of the data source starts with a new queue. */
  queue: LockQueue
  /** Scope of the transaction or migration that holds the connection. */
  holder: TransactionScope | undefined
  /** When that transaction began, on the clock of `performance.now()`; undefined if there is none, or for a migration. */
  transactionStart: number | undefined
  /** Undefined if reads wait for every transaction. */
  readConnection: ReadConnection | undefined
}

/** Creates a lock that nobody holds. */
export function newLock(limits: LockLimits, usesThreads: boolean): SqliteLock {
  return {
    ...limits,
    usesThreads,
    queue: new LockQueue(),
    holder: undefined,
    transactionStart: undefined,
    readConnection: undefined,
  }
}

/**
 * Acquires the connection. Clients take turns.
 * @param alternative returns what can be used instead of the connection. It is called before and during the wait, and ends
 * the wait if it returns something
 * @throws {SqliteLockError} if the wait exceeds the limit, or too many are waiting already
 * @throws {ApiError} `unavailable` if the client has closed its connection during the wait
 */
export async function acquire<T extends object = never>(
  lock: SqliteLock,
  sender: Sender | undefined,
  use: Use,
  alternative?: () => T | undefined,
): Promise<Release | T> {
  const acquired = lock.queue.tryAcquire(use, sender) ?? alternative?.()
  if (acquired !== undefined) return acquired
  const waited = await waitForTurn(lock, lock.queue.wait(use, sender), alternative)
  if (typeof waited !== 'function' || sender?.client?.destroyed !== true) return waited
  waited()
  throw clientDisconnected()
}

async function waitForTurn<T extends object>(
  lock: SqliteLock,
  { acquired, leave }: Place,
  alternative: (() => T | undefined) | undefined,
): Promise<Release | T> {
  const { holder, waitLimit, timeLimit } = lock
  const isInsideTransaction = holder !== undefined && isInScope(holder)
  let limit = isInsideTransaction ? Math.min(waitLimitInsideTransaction, waitLimit) : waitLimit
  let waited = await waitFor(limit, acquired, alternative)
  if (waited === undefined && lock.holder === undefined && timeLimit !== Number.POSITIVE_INFINITY) {
    // A statement of another client may use the connection until its time limit.
    limit += timeLimit
    waited = await waitFor(timeLimit, acquired, alternative)
  }
  if (typeof waited !== 'function') leave()
  if (waited !== undefined) return waited
  throw new SqliteLockError(
    isInsideTransaction
      ? 'this was called inside of a transaction and does not go through its EntityManager: it waits for the ' +
          'transaction, and the transaction for it; use the manager of the transaction (in a subscriber: event.manager)'
      : `the only connection of this SQLite data source was in use for ${limit} ms; ` +
          'if this is called inside a transaction, use the manager of the transaction',
  )
}

/** Waits for the connection or for the alternative. @returns undefined after the limit, in milliseconds */
async function waitFor<T extends object>(
  limit: number,
  acquired: Promise<Release>,
  alternative: (() => T | undefined) | undefined,
): Promise<Release | T | undefined> {
  if (alternative === undefined) return within<Release | undefined>(limit, acquired, undefined)
  const end = performance.now() + limit
  for (let left = limit; left > 0; left = end - performance.now()) {
    const release = await within<Release | undefined>(Math.min(left, alternativeIntervalMs), acquired, undefined)
    const result = release ?? alternative()
    if (result !== undefined) return result
  }
  return undefined
}
