import { type Session, within, withRunner } from '../query/connection'
import { dialectOf } from '../query/dialect-of'

/** How long the database may take to say that it is there, in milliseconds. */
const patience = 2000

/** Asks whether the database answers: one statement at a time, for all who want to know meanwhile. */
export function buildHealth(session: Session): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined
  return () => {
    asked ??= answers(session).finally(() => {
      asked = undefined
    })
    return within(patience, asked, false)
  }
}

async function answers(session: Session): Promise<boolean> {
  // It is in this process; a transaction that others wait for is no illness.
  if (dialectOf(session.dataSource).sharesConnection) return true
  return withRunner(session, (runner) => runner.query('SELECT 1')).then(
    () => true,
    () => false,
  )
}
