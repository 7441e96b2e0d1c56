import { Semaphore } from 'async-mutex'
import { within } from '../timers'
import { isInScope, type TransactionScope } from './transaction-scope'

/** Thrown when the connection of a SQLite data source is not free in time, or cannot run this statement. */
export class SqliteLockError extends Error {
  override readonly name = 'SqliteLockError'
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

/** The lock on the single connection of a data source. */
export interface SqliteLock {
  /** How long, in milliseconds, a statement or transaction waits for the connection. */
  readonly waitLimit: number
  /** Time limit for statements of this service, in milliseconds. */
  readonly timeLimit: number
  /**
   * Whether lists and counts use the connection alone: with sqlite3, which runs statements in threads. If another statement
   * ends while a long one is running, its clean-up blocks the event loop until the long one has finished, and no timer can
   * interrupt that one.
   */
  readonly listsAreExclusive: boolean
  state: LockState
  /** Scope of the transaction that holds the connection. */
  holder: TransactionScope | undefined
}

/** Creates the state of a lock that nobody holds. */
export function newLockState(): LockState {
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

/**
 * Acquires the connection: one permit to share it with other statements, all permits to use it alone.
 * @throws {SqliteLockError} if the wait exceeds the limit, or too many are waiting already
 */
export async function acquire(lock: SqliteLock, use: 'shared' | 'exclusive'): Promise<Release> {
  const { state, holder, waitLimit } = lock
  const weight = use === 'shared' ? 1 : maxPermits
  // Fast path without contention: needs no timer.
  if (state.waiting === 0 && state.semaphore.getValue() >= weight) {
    const [, release] = await state.semaphore.acquire(weight)
    return release
  }
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
  const release = await within<Release | undefined>(limit, acquired, undefined)
  if (release !== undefined) return release
  // The semaphore cannot cancel the wait: permits that arrive after the timeout are released at once.
  acquired.then((releaseLate) => releaseLate())
  throw new SqliteLockError(
    isInsideTransaction
      ? 'this was called inside of a transaction and does not go through its EntityManager: it waits for the ' +
          'transaction, and the transaction for it; use the manager of the transaction (in a subscriber: event.manager)'
      : `the only connection of this SQLite data source was in use for ${limit} ms; ` +
          'if this is called inside a transaction, use the manager of the transaction',
  )
}
