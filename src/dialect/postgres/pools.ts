import { destroyWhenSilent } from '../silence'
import { type PoolState, type PostgresDriver, runningSqlOf, usePreparedStatements } from './connection'
import { prepareSession } from './session-styles'

/**
 * Prepares the connections of all pools for the statements of this service, each when it is first acquired.
 * @param timeLimit of a statement, in milliseconds; Infinity for no limit
 */
export function preparePools({ master, slaves = [], postgres: { Query } }: PostgresDriver, timeLimit: number): void {
  const state: PoolState = { supportsPreparedStatements: true, staleErrors: 0, timeLimit, Query }
  for (const pool of [master, ...slaves]) {
    // The server may close the connection before TypeORM attaches its error handler: an unhandled error ends the
    // process.
    pool?.on('connect', (client) => client.on('error', () => undefined))
    // Not on 'connect', because the pool already has open connections.
    pool?.on('acquire', (client) => {
      destroyWhenSilent(client, timeLimit, {
        stream: client.connection?.stream,
        runningSql: () => runningSqlOf(client),
      })
      prepareSession(client)
      usePreparedStatements(client, state)
    })
  }
}
