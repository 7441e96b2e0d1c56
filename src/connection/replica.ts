import type { DataSource } from 'typeorm'
import { ConnectionError } from './connection-queue'
import { transientErrorOf } from './database-error'
import type { DbSession } from './db-session'

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
export function readReplica<T>(session: DbSession, read: (session: DbSession) => Promise<T>): Promise<T> {
  return hasReplicas(session.dataSource) ? readEither(session, read) : read(session)
}

async function readEither<T>(session: DbSession, read: (session: DbSession) => Promise<T>): Promise<T> {
  try {
    return await read({ ...session, replica: true })
  } catch (error) {
    const isLost = error instanceof ConnectionError || transientErrorOf(error, session.dataSource) === 'again'
    if (!isLost) throw error
    return read(session)
  }
}
