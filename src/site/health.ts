import { type Session, within, withRunner } from '../query/connection'

/** How long the database may take to say that it is there, in milliseconds. */
const patience = 2000

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

async function isAlive(session: Session): Promise<boolean> {
  if (!session.dataSource.isInitialized) return false
  const answered = withRunner({ ...session, waitLimit: patience }, (runner) => runner.query('SELECT 1')).then(
    () => true,
    () => false,
  )
  return within(patience, answered, false)
}
