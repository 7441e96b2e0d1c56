import { setTimeout } from 'node:timers/promises'
import { type Session, withRunner } from './connection'

/** How long the database may take to say that it is there, in milliseconds. */
const patience = 2000

/** Whether the database answers. */
export async function isAlive(session: Session): Promise<boolean> {
  if (!session.dataSource.isInitialized) return false
  const asked = withRunner({ ...session, waitLimit: patience }, (runner) => runner.query('SELECT 1'))
  return Promise.race([asked.then(() => true), setTimeout(patience, false, { ref: false })]).catch(() => false)
}
