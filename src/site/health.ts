import { type DbSession, withQueryRunner } from '../connection/db-session'
import { hasReplicas } from '../connection/replica'
import { dialectOf } from '../dialect/dialect-of'
import { withStartComment } from '../dialect/statement-comment'
import { unavailable } from '../errors'
import { healthResponse, problemResponse } from '../response/http-response'
import { within } from '../timers'
import type { PageHandler } from './page'

/** State of the database. `warn`: the replica does not respond, so that reads go to the primary. */
type Health = 'pass' | 'warn' | 'fail'

/** Maximum time that the database may take to respond, in milliseconds. */
const timeout = 2000

/** Builds the health check of the database. */
function buildHealthCheck(session: DbSession): () => Promise<Health> {
  const checkPrimary = buildServerCheck(session)
  const checkReplica = hasReplicas(session.dataSource) ? buildServerCheck({ ...session, replica: true }) : checkPrimary
  return async () => {
    const [primary, replica] = await Promise.all([checkPrimary(), checkReplica()])
    if (!primary) return 'fail'
    return replica ? 'pass' : 'warn'
  }
}

/** Builds the check of one server. Concurrent calls share one statement. */
function buildServerCheck(session: DbSession): () => Promise<boolean> {
  let running: Promise<boolean> | undefined
  return () => {
    running ??= isResponding(session).finally(() => {
      running = undefined
    })
    return within(timeout, running, false)
  }
}

async function isResponding(session: DbSession): Promise<boolean> {
  // SQLite runs in this process. A check would have to wait for the running transaction, which is not a fault.
  if (dialectOf(session.dataSource).sharesConnection) return true
  return withQueryRunner(session, (runner) => runner.query(withStartComment('SELECT 1'))).then(
    () => true,
    () => false,
  )
}

/** Serves whether the database responds. */
export function healthPage(session: DbSession): PageHandler {
  const checkHealth = buildHealthCheck(session)
  return async ({ service }) => {
    const health = service === undefined ? 'fail' : await checkHealth()
    return health === 'fail' ? problemResponse(unavailable('the database does not respond')) : healthResponse(health)
  }
}
