import type { DataSource } from 'typeorm'
import { clientName } from '../access/client-network'
import { dialectOf } from '../dialect/dialect-of'
import { sharedByCopies } from '../shared-state'
import { maxTimerMs } from '../timers'
import { ClientTurns } from './client-turns'
import type { DbSession } from './db-session'
import { maxConnectionsOfClient, poolSizeOf } from './pool-size'

/** Limits the number of writes that run at the same time. The others wait, and clients take turns. */
class WriteLimit {
  readonly #turns: ClientTurns<void>
  #free: number

  constructor(poolSize: number) {
    // One connection stays free, of the pool and of those that a client can have. Writes can wait for records that another client
    // has locked, and reads must not wait with them. And a function of the application that queries in a transaction needs a
    // second connection.
    this.#turns = new ClientTurns(Math.max(1, maxConnectionsOfClient(poolSize) - 1))
    this.#free = poolSize > 2 ? poolSize - 1 : 1
  }

  /**
   * Runs a write when it is its turn.
   * @param write gets the rest of the time limit, in milliseconds
   * @throws {ConnectionError} if the turn takes longer than `limit` milliseconds
   */
  async run<T>(client: string, limit: number, write: (limit: number) => Promise<T>): Promise<T> {
    let rest = limit
    if (this.#free > 0 && this.#turns.startAtOnce(client)) this.#free -= 1
    else {
      const start = performance.now()
      const turn = this.#turns.wait(client, limit)
      this.#start()
      await turn
      rest = Math.max(1, limit - (performance.now() - start))
    }
    try {
      return await write(rest)
    } finally {
      this.#turns.end(client)
      this.#free += 1
      this.#start()
    }
  }

  #start(): void {
    while (this.#free > 0 && this.#turns.start()) this.#free -= 1
  }
}

const limits = sharedByCopies('writeLimits', () => new WeakMap<DataSource, WriteLimit>())

/**
 * Runs a write: a statement, or a transaction that counts as one write. All writes together do not use all connections of a pool.
 * @throws {ConnectionError} if it cannot begin within the session's limit
 */
export function limitWrites<T>(session: DbSession, write: (session: DbSession) => Promise<T>): Promise<T> {
  const { dataSource, waitLimit, runner } = session
  // If all requests share one connection, they wait for its lock.
  if (runner !== undefined || dialectOf(dataSource).sharesConnection) return write(session)
  const limit = limits.get(dataSource) ?? new WriteLimit(poolSizeOf(dataSource))
  limits.set(dataSource, limit)
  return limit.run(clientName(session), Math.min(waitLimit, maxTimerMs), (rest) =>
    // It waits for its turn and for a connection, together not longer than the limit.
    write(rest < waitLimit ? { ...session, waitLimit: rest } : session),
  )
}
