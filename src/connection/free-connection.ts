import { Semaphore, withTimeout } from 'async-mutex'
import type { DataSource } from 'typeorm'
import { sharedByCopies } from '../shared-state'
import { maxTimerMs } from '../timers'
import { ConnectionError } from './connection-queue'
import type { DbSession } from './db-session'

/** Number of connections of a pool if no option sets it: the default of pg and mysql2. */
const defaultPoolSize = 10

const semaphores = sharedByCopies('transactionSemaphores', () => new WeakMap<DataSource, Semaphore>())

/**
 * Runs a transaction that calls functions of the application, such as validators. At least one connection of the pool is not
 * used for such transactions: a function that queries through the data source needs a second connection, so that these
 * transactions would deadlock if they held all connections.
 * @throws {ConnectionError} if the transaction cannot begin within the session's limit
 */
export async function keepingConnectionFree<T>(
  { dataSource, waitLimit }: DbSession,
  run: () => Promise<T>,
): Promise<T> {
  const semaphore = semaphores.get(dataSource) ?? new Semaphore(Math.max(1, poolSizeOf(dataSource) - 1))
  semaphores.set(dataSource, semaphore)
  const limit = Math.min(waitLimit, maxTimerMs)
  const timeout = new ConnectionError(`no connection was free for ${limit} ms`)
  return withTimeout(semaphore, limit, timeout).runExclusive(run)
}

/** The number of connections in the pool, from the options of TypeORM and of the driver, which take precedence. */
function poolSizeOf({ options }: DataSource): number {
  const { poolSize = defaultPoolSize, extra } = options as {
    readonly poolSize?: number
    readonly extra?: { readonly max?: number; readonly connectionLimit?: number }
  }
  return Number(extra?.max ?? extra?.connectionLimit ?? poolSize)
}
