import type { DataSource } from 'typeorm'
import { type Client, clientName } from '../access/client-network'
import { hasBlocked, type LongStatement, lastLongStatement } from '../dialect/sqlite/time-limit'
import { lockOf } from '../sqlite-lock/install'
import { canBegin, isUsedAlone } from '../sqlite-lock/lock'
import type { ConnectionQueue } from './connection-queue'

/** What a session says about its turns. */
interface TurnSession extends Client {
  readonly dataSource: DataSource
  readonly turnName: string | undefined
}

/** Name of the client that takes turns with others. */
export const turnName = (session: TurnSession): string => session.turnName ?? clientName(session)

/** The session of the last statement or transaction on a shared connection. */
let lastSession: TurnSession | undefined
/** The last long statement, and the client that has sent it. */
let sentBy: { readonly statement: LongStatement; readonly client: string } | undefined

/** Notes that a session uses the connection that all requests share. */
export function noteTurn(session: TurnSession): void {
  lastSession = session
}

/**
 * Whether a statement can use the connection that all requests share without waiting for a turn. After a long statement, its client
 * waits for the end of the pause, and for its other work that waits.
 */
export function needsNoTurn(session: TurnSession, queue: ConnectionQueue): boolean {
  const lock = lockOf(session.dataSource)
  // Statements wait for a transaction, or read on a second connection during it. They must not keep others waiting.
  if (lock?.holder !== undefined) return true
  if (mustPause(session) || (lock !== undefined && isUsedAlone(lock))) return false
  if (!queue.isEmpty && queue.isWaitedForBy(turnName(session))) return false
  noteTurn(session)
  return true
}

/** As {@link needsNoTurn}, for a transaction. */
export function mayBegin(session: TurnSession, queue: ConnectionQueue): boolean {
  const lock = lockOf(session.dataSource)
  return (lock === undefined || canBegin(lock)) && needsNoTurn(session, queue)
}

function mustPause(session: TurnSession): boolean {
  const statement = lastLongStatement()
  if (statement === undefined) return false
  if (sentBy?.statement !== statement) {
    sentBy = { statement, client: lastSession === undefined ? '' : turnName(lastSession) }
  }
  return hasBlocked() || (performance.now() < statement.pauseEnd && turnName(session) === sentBy.client)
}
