import { type DbSession, openSession } from '../connection/db-session'
import { channels } from '../diagnostics'

/**
 * Session of a request on a resource. Its costs are measured if a diagnostics channel has subscribers.
 * @param isMeasured whether the costs are measured even without subscribers
 */
export function tracedSession(
  session: DbSession,
  resource: string,
  { address, client }: Pick<DbSession, 'address' | 'client'>,
  isMeasured = false,
): DbSession {
  const isTraced = isMeasured || channels.request.hasSubscribers || channels.statement.hasSubscribers
  const trace = isTraced ? { resource, statements: 0, rows: 0, milliseconds: 0 } : undefined
  return openSession(session, { address, client, trace })
}
