import { type PoolState, type Pools, usePreparedStatements } from './connection'
import { useOwnStyles } from './session-styles'

/**
 * Prepares the connections of all pools for our statements: each when it is first used.
 * @param timeLimit of a statement, in milliseconds; Infinity for none
 */
export function preparePools({ master, slaves = [] }: Pools, timeLimit: number): void {
  const state: PoolState = { areNamesUsed: true, timeLimit }
  for (const pool of [master, ...slaves]) {
    // The server may close the connection before TypeORM attaches its error handler: an unhandled error ends the process.
    pool?.on('connect', (client) => client.on('error', () => undefined))
    // Not on 'connect', since the pool has some connections already.
    pool?.on('acquire', (client) => {
      useOwnStyles(client)
      usePreparedStatements(client, state)
    })
  }
}
