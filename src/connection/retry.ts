import { setTimeout } from 'node:timers/promises'
import { ConcurrentConflict } from '../errors'
import { OperationError } from '../request/operation-error'
import { transientErrorOf } from './database-error'
import type { DbSession } from './db-session'

/**
 * Runs `work`, and runs it a second time if the database has cancelled it because of a conflict, such as a deadlock, or after
 * a {@link ConcurrentConflict}, which may be that of an operation of a batch. In a transaction it runs once: the database has
 * rolled back the whole transaction, and only the caller that began it can repeat it.
 */
export async function retryOnce<T>({ dataSource, runner }: DbSession, work: () => Promise<T>): Promise<T> {
  if (runner !== undefined) return work()
  try {
    return await work()
  } catch (error) {
    const refusal = error instanceof OperationError ? error.refusal : error
    if (!(refusal instanceof ConcurrentConflict) && transientErrorOf(error, dataSource) !== 'retry') throw error
    // A random delay, so that two requests that were in conflict do not repeat their work at the same time.
    await setTimeout(10 + Math.random() * 40)
    return work()
  }
}
