import { setTimeout } from 'node:timers/promises'
import { transientErrorOf } from './database-error'
import type { DbSession } from './db-session'

/** Does work once more, as a whole, when the database has ended it in favour of others. */
export async function retryOnce<T>({ dataSource }: DbSession, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (transientErrorOf(error, dataSource) !== 'again') throw error
    // Not in step with whom it was in the way of.
    await setTimeout(10 + Math.random() * 40)
    return work()
  }
}
