import { openSession, type SessionSettings } from '../connection/db-session'
import type { StoredResponses } from './stored-responses'

/** Number of stored responses that one call deletes. */
const maxDeleted = 100
/** Minimum time between two calls that run statements, in milliseconds, unless more than `maxDeleted` keys have expired. */
const intervalMs = 1000
/** Time that a call waits for a connection, in milliseconds. If none is free, requests need them more. */
const waitMs = 1000

/**
 * Builds the function that deletes stored responses which have expired, in the background, a bounded number at a time. It
 * is called after each write with a key, so that as many are deleted as are stored. A failure is logged: the next write
 * repeats it. One call runs at a time.
 */
export function buildDeleteExpired(responses: StoredResponses, settings: SessionSettings): () => void {
  const { dataSource, waitLimit } = settings
  let isRunning = false
  let nextTime = 0
  const deleteSome = async (): Promise<void> => {
    const session = openSession({ ...settings, waitLimit: Math.min(waitLimit, waitMs) })
    const now = Date.now()
    nextTime = now + intervalMs
    const ids = await responses.findExpired(session, now, maxDeleted)
    if (ids.length > 0) await responses.deleteExpired(session, ids, now)
    if (ids.length === maxDeleted) nextTime = 0
  }
  return () => {
    if (isRunning || Date.now() < nextTime || !dataSource.isInitialized) return
    isRunning = true
    deleteSome()
      .catch(() => dataSource.logger.log('warn', 'typeorm-resources: expired Idempotency-Keys could not be deleted'))
      // The logger of the application may throw.
      .catch(() => undefined)
      .finally(() => {
        isRunning = false
      })
  }
}
