import type { DataSource } from 'typeorm'
import { isConnectionError } from './client-turns'
import { transientErrorOf } from './database-error'
import type { DbSession } from './db-session'
import { replicaCountOf } from './pool-size'

/** Whether a data source reads from replicas. */
export function hasReplicas(dataSource: DataSource): boolean {
  return replicaCountOf(dataSource) > 0 && dataSource.defaultReplicationModeForReads() === 'slave'
}

/**
 * Runs `read` on a replica if the data source has one, otherwise on the primary. Only for work that writes nothing and
 * need not see the latest writes. If the replica cannot be reached, or has cancelled the statement because of a
 * conflict (as with the changes that it replays), `read` runs again on the primary; after a timeout it does not.
 */
export function readFromReplica<T>(session: DbSession, read: (session: DbSession) => Promise<T>): Promise<T> {
  return hasReplicas(session.dataSource) ? readWithFallback(session, read) : read(session)
}

async function readWithFallback<T>(session: DbSession, read: (session: DbSession) => Promise<T>): Promise<T> {
  try {
    return await read({ ...session, replica: true })
  } catch (error) {
    const mayUsePrimary = isConnectionError(error) || transientErrorOf(error, session.dataSource) === 'retry'
    if (!mayUsePrimary) throw error
    return read(session)
  }
}

/**
 * The data source, for query builders that read from the primary. A query builder asks its data source for each query, so that
 * its copies read from the primary too, and a query runner that the application sets is used.
 */
export function readingFromPrimary(dataSource: DataSource): DataSource {
  return Object.create(dataSource, { defaultReplicationModeForReads: { value: () => 'master' } })
}
