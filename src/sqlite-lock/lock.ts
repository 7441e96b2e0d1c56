import { Semaphore } from 'async-mutex'
import { within } from '../timers'
import { isWithin, type TransactionScope } from './transaction-scope'

/** The one connection of a SQLite data source was not to be had, or not for this statement. */
export class SqliteLockError extends Error {
  override readonly name = 'SqliteLockError'
}

/** What waits for a transaction that it is itself a part of would wait for ever: it need not wait long, in milliseconds. */
const innerWaitLimit = 1000
/** More are told at once: each that waits takes memory, until the transaction ends. */
const maxWaitingForTransaction = 1000

/** Gives back what was taken. */
export type Release = () => void

/** Who uses one connection, and who waits for it. */
interface LockState {
  /** Statements that may run at the same time; a transaction takes all places. */
  readonly places: number
  readonly semaphore: Semaphore
  readonly giveOne: Release
  waiting: number
}

/** Who has the one connection, and who waits for it. */
export interface SqliteLock {
  readonly waitLimit: number
  /** How long a statement of this service may take, in milliseconds. */
  readonly timeLimit: number
  turns: LockState
  /** The transaction that holds the connection. */
  holder: TransactionScope | undefined
}

/** The state of a connection that is not in use. */
export function newTurns(places: number): LockState {
  const semaphore = new Semaphore(places)
  return { places, semaphore, giveOne: () => semaphore.release(), waiting: 0 }
}

/** Takes it at once from whoever may have it. */
export function takeAll({ turns: { places, semaphore } }: SqliteLock): Release {
  semaphore.setValue(0)
  return () => semaphore.release(places)
}

/** Takes a place for a statement at once, where nobody is in the way, as mostly. */
export function takeOne({ turns: { semaphore, giveOne, waiting } }: SqliteLock): Release | undefined {
  const free = semaphore.getValue()
  if (waiting > 0 || free < 1) return undefined
  semaphore.setValue(free - 1)
  return giveOne
}

/**
 * Takes the connection: one place for a statement, all for a transaction.
 * @throws {SqliteLockError} when it takes longer than the limit
 */
export async function acquire(lock: SqliteLock, what: 'statement' | 'transaction'): Promise<Release> {
  const { turns, holder, waitLimit } = lock
  const weight = what === 'statement' ? 1 : turns.places
  // Mostly nobody is in the way, and nothing need be timed.
  if (turns.waiting === 0 && turns.semaphore.getValue() >= weight) {
    const [, give] = await turns.semaphore.acquire(weight)
    return give
  }
  if (turns.waiting >= maxWaitingForTransaction)
    throw new SqliteLockError(
      `${maxWaitingForTransaction} statements and transactions already wait for the one connection`,
    )
  const isInner = holder !== undefined && isWithin(holder)
  const limit = isInner ? Math.min(innerWaitLimit, waitLimit) : waitLimit
  turns.waiting += 1
  const given = turns.semaphore.acquire(weight).then(([, give]): Release => {
    turns.waiting -= 1
    return give
  })
  const give = await within<Release | undefined>(limit, given, undefined)
  if (give !== undefined) return give
  // It comes too late.
  given.then((late) => late())
  throw new SqliteLockError(
    isInner
      ? 'this was called inside of a transaction and does not go through its EntityManager, so it waits for the transaction ' +
          'that waits for it: use the manager of the transaction, in a subscriber event.manager'
      : `the one connection of this SQLite data source has been in use for ${limit} ms; if this is called inside of a ` +
          'transaction, use its manager',
  )
}
