import { isAlive } from '../query/alive'
import type { Session } from '../query/connection'

/** How long an answer of the database is good for, in milliseconds: who asks more often costs nothing. */
const freshness = 1000

/** Asks whether the database answers, at most once at a time. */
export function buildHealth(session: Session): () => Promise<boolean> {
  let latest: Promise<boolean> | undefined
  return () => {
    if (latest === undefined) {
      latest = isAlive(session)
      latest.then(() => setTimeout(() => (latest = undefined), freshness).unref())
    }
    return latest
  }
}
