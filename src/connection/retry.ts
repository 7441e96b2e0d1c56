import { setTimeout } from 'node:timers/promises'
import { transientErrorOf } from './database-error'
import type { DbSession } from './db-session'

/**
 * Runs `work`, and runs it a second time if the database has cancelled it because of a conflict, such as a deadlock.
 */
export async function retryOnce<T>({ dataSource }: DbSession, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (transientErrorOf(error, dataSource) !== 'retry') throw error
    // A random delay, so that two requests that were in conflict do not repeat their work at the same time.
    await setTimeout(10 + Math.random() * 40)
    return work()
  }
}
