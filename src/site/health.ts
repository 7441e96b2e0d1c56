import { type DbSession, withRunner } from '../connection/db-session'
import { hasReplicas } from '../connection/replica'
import { dialectOf } from '../dialect/dialect-of'
import { unavailable } from '../errors'
import { healthResponse, problemResponse } from '../response/http-response'
import { within } from '../timers'
import type { PageHandler } from './page'

/** `warn` where a replica does not answer: what it was asked, the primary is. */
type Health = 'pass' | 'warn' | 'fail'

/** How long the database may take to say that it is there, in milliseconds. */
const patience = 2000

/** Asks whether the database answers. */
function buildHealth(session: DbSession): () => Promise<Health> {
  const asksPrimary = buildQuestion(session)
  const asksReplica = hasReplicas(session.dataSource) ? buildQuestion({ ...session, replica: true }) : asksPrimary
  return async () => {
    const [primary, replica] = await Promise.all([asksPrimary(), asksReplica()])
    if (!primary) return 'fail'
    return replica ? 'pass' : 'warn'
  }
}

/** One statement at a time, for all who want to know meanwhile. */
function buildQuestion(session: DbSession): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined
  return () => {
    asked ??= answers(session).finally(() => {
      asked = undefined
    })
    return within(patience, asked, false)
  }
}

async function answers(session: DbSession): Promise<boolean> {
  // It is in this process; a transaction that others wait for is no illness.
  if (dialectOf(session.dataSource).sharesConnection) return true
  return withRunner(session, (runner) => runner.query('SELECT 1')).then(
    () => true,
    () => false,
  )
}

/** Says whether the database answers, and nothing else. */
export function healthPage(session: DbSession): PageHandler {
  const ask = buildHealth(session)
  return async ({ service }) => {
    const health = service === undefined ? 'fail' : await ask()
    return health === 'fail' ? problemResponse(unavailable('the database does not answer')) : healthResponse(health)
  }
}
