import type { DataSource } from 'typeorm'
import type { Session } from './connection'
import { troubleOf } from './fault'
import { ConnectionError } from './handover'

/** Whether a data source has replicas that it reads from. */
export function hasReplicas(dataSource: DataSource): boolean {
  const { replication } = dataSource.options as { readonly replication?: unknown }
  return replication !== undefined && dataSource.defaultReplicationModeForReads() === 'slave'
}

/**
 * Reads from a replica, where there is one: work that writes nothing, and need not see what was written a moment ago. One that
 * cannot be connected to, or that has ended the statement in favour of what it replays, is not the client's matter: then it is
 * the primary. A statement that took too long is not done once more there.
 */
export function readReplica<T>(session: Session, read: (session: Session) => Promise<T>): Promise<T> {
  return hasReplicas(session.dataSource) ? readEither(session, read) : read(session)
}

async function readEither<T>(session: Session, read: (session: Session) => Promise<T>): Promise<T> {
  try {
    return await read({ ...session, replica: true })
  } catch (error) {
    const isLost = error instanceof ConnectionError || troubleOf(error, session.dataSource) === 'again'
    if (!isLost) throw error
    return read(session)
  }
}
