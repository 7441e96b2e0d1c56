import { isAlive } from '../query/alive'
import type { Session } from '../query/connection'

/** Asks whether the database answers: one statement at a time, for all who want to know meanwhile. */
export function buildHealth(session: Session): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined
  return () => {
    asked ??= isAlive(session).finally(() => {
      asked = undefined
    })
    return asked
  }
}
