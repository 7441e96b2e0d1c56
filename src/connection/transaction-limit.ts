import type { DataSource } from 'typeorm'
import { clientName } from '../access/client-network'
import { sharedByCopies } from '../shared-state'
import { maxTimerMs } from '../timers'
import { ClientTurns } from './client-turns'
import type { DbSession } from './db-session'
import { maxConnectionsOfClient, poolSizeOf } from './pool-size'

/** Limits the number of transactions that run at the same time. The others wait, and clients take turns. */
class TransactionLimit {
  readonly #turns: ClientTurns<void>
  #free: number

  constructor(poolSize: number) {
    // A function of the application that queries in a transaction needs a second connection. So one stays free: of the pool, and
    // of those that a client can have.
    this.#turns = new ClientTurns(Math.max(1, maxConnectionsOfClient(poolSize) - 1))
    this.#free = poolSize > 2 ? poolSize - 1 : 1
  }

  /** Runs a transaction when it is its turn. @throws {ConnectionError} if this takes longer than `limit` milliseconds */
  async run<T>(client: string, limit: number, transaction: () => Promise<T>): Promise<T> {
    const turn = this.#turns.wait(client, limit)
    this.#start()
    await turn
    try {
      return await transaction()
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

const limits = sharedByCopies('transactionLimits', () => new WeakMap<DataSource, TransactionLimit>())

/**
 * Runs a transaction that calls functions of the application, such as validators. The number of such transactions is limited:
 * they would deadlock if they held all connections while their functions query through the data source.
 * @throws {ConnectionError} if the transaction cannot begin within the session's limit
 */
export async function keepingConnectionFree<T>(session: DbSession, run: () => Promise<T>): Promise<T> {
  const { dataSource, waitLimit } = session
  const limit = limits.get(dataSource) ?? new TransactionLimit(poolSizeOf(dataSource))
  limits.set(dataSource, limit)
  return limit.run(clientName(session), Math.min(waitLimit, maxTimerMs), run)
}
