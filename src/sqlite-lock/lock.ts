import { Semaphore } from 'async-mutex'
import { within } from '../timers'
import { isInScope, type TransactionScope } from './transaction-scope'

/** Thrown when the connection of a SQLite data source is not free in time, or cannot run this statement. */
export class SqliteLockError extends Error {
  override readonly name = 'SqliteLockError'
}

/** Whether an error is a {@link SqliteLockError}, also one of another copy of this package, which may have installed the lock. */
export function isSqliteLockError(error: unknown): boolean {
  return error instanceof Error && error.name === 'SqliteLockError'
}

/**
 * Time limit, in milliseconds, for a statement that is called inside the running transaction but not through it: it
 * waits for the transaction, which waits for it. It times out early, because the lock will not become free.
 */
const waitLimitInsideTransaction = 1000
/** Maximum number of waiting statements and transactions, because each takes memory. Further ones are rejected at once. */
const maxWaiting = 1000

/** Permits of the semaphore: the maximum number of statements that share the connection. */
const maxPermits = 64

/** Releases what was acquired. */
export type Release = () => void

/** State of the lock, which a new connection of the data source starts anew. */
interface LockState {
  readonly semaphore: Semaphore
  /** Releases one permit. */
  readonly releaseOne: Release
  /** Number of statements and transactions that wait. */
  waiting: number
}

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
  readonly query: (sql: string, parameters: readonly never[]) => Promise<{ readonly result: unknown } | undefined>
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
   * Whether lists and counts use the connection alone: with sqlite3, which runs statements in threads. If another statement
   * ends while a long one is running, its clean-up blocks the event loop until the long one has finished, and no timer can
   * interrupt that one.
   */
  readonly listsAreExclusive: boolean
  state: LockState
  /** Scope of the transaction or migration that holds the connection. */
  holder: TransactionScope | undefined
  /** When that transaction began, on the clock of `performance.now()`; undefined if there is none, or for a migration. */
  transactionStart: number | undefined
  /** Undefined if reads wait for every transaction. */
  readConnection: ReadConnection | undefined
}

/** Creates a lock that nobody holds. */
export function newLock(limits: LockLimits, listsAreExclusive: boolean): SqliteLock {
  return {
    ...limits,
    listsAreExclusive,
    state: newLockState(),
    holder: undefined,
    transactionStart: undefined,
    readConnection: undefined,
  }
}

/** Creates the state of a lock that nobody holds. */
function newLockState(): LockState {
  const semaphore = new Semaphore(maxPermits)
  return { semaphore, releaseOne: () => semaphore.release(), waiting: 0 }
}

/**
 * Takes all permits immediately, even if some are in use: for a transaction that had begun before the lock was
 * installed.
 */
export function acquireAll({ state: { semaphore } }: SqliteLock): Release {
  semaphore.setValue(0)
  return () => semaphore.release(maxPermits)
}

/** Takes one permit without a promise: the fast path for a statement. Returns undefined if it would have to wait. */
export function tryAcquireOne({ state: { semaphore, releaseOne, waiting } }: SqliteLock): Release | undefined {
  const free = semaphore.getValue()
  if (waiting > 0 || free < 1) return undefined
  semaphore.setValue(free - 1)
  return releaseOne
}

/** Whether a transaction can begin at once, or the caller is inside of one, for whose end it must not wait. */
export function canBegin({ state: { semaphore, waiting }, holder }: SqliteLock): boolean {
  if (holder !== undefined) return isInScope(holder)
  return waiting === 0 && semaphore.getValue() >= maxPermits
}

/** Whether a statement or a transaction uses the connection alone, or waits to do so. */
export function isUsedAlone({ state: { semaphore, waiting } }: SqliteLock): boolean {
  return waiting > 0 || semaphore.getValue() < 1
}

/**
 * Acquires the connection: one permit to share it with other statements, all permits to use it alone.
 * @param alternative returns what can be used instead of the connection. It is called before and during the wait, and ends
 * the wait if it returns something
 * @throws {SqliteLockError} if the wait exceeds the limit, or too many are waiting already
 */
export async function acquire<T extends object = never>(
  lock: SqliteLock,
  use: 'shared' | 'exclusive',
  alternative?: () => T | undefined,
): Promise<Release | T> {
  const { state, holder, waitLimit } = lock
  const weight = use === 'shared' ? 1 : maxPermits
  // Fast path without contention: needs no timer.
  if (state.waiting === 0 && state.semaphore.getValue() >= weight) {
    const [, release] = await state.semaphore.acquire(weight)
    return release
  }
  const other = alternative?.()
  if (other !== undefined) return other
  if (state.waiting >= maxWaiting) {
    throw new SqliteLockError(`${maxWaiting} statements and transactions are already waiting for the only connection`)
  }
  const isInsideTransaction = holder !== undefined && isInScope(holder)
  const limit = isInsideTransaction ? Math.min(waitLimitInsideTransaction, waitLimit) : waitLimit
  state.waiting += 1
  const acquired = state.semaphore.acquire(weight).then(([, release]): Release => {
    state.waiting -= 1
    return release
  })
  const waited = await waitFor(limit, acquired, alternative)
  if (typeof waited === 'function') return waited
  // The semaphore cannot cancel the wait: permits that arrive later are released at once.
  acquired.then((releaseLate) => releaseLate())
  if (waited !== undefined) return waited
  throw new SqliteLockError(
    isInsideTransaction
      ? 'this was called inside of a transaction and does not go through its EntityManager: it waits for the ' +
          'transaction, and the transaction for it; use the manager of the transaction (in a subscriber: event.manager)'
      : `the only connection of this SQLite data source was in use for ${limit} ms; ` +
          'if this is called inside a transaction, use the manager of the transaction',
  )
}

/** Waits for the lock or for the alternative. @returns undefined after the limit, in milliseconds */
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
