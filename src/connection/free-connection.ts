import { Semaphore, withTimeout } from 'async-mutex'
import type { DataSource } from 'typeorm'
import { maxTimerMs } from '../timers'
import { ConnectionError } from './connection-queue'
import type { DbSession } from './db-session'

/** Connections of a pool if the application sets no number: the default of pg and mysql2. */
const defaultPoolSize = 10

const semaphores = new WeakMap<DataSource, Semaphore>()

/**
 * Runs a transaction that calls functions of the application, such as validators, while at least one connection of the pool is free of
 * such transactions. A function that queries through the data source needs a second connection: if such transactions held all of them,
 * each would wait for the others without end.
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
