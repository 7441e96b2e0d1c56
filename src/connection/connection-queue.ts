import type { QueryRunner } from 'typeorm'
import { ClientTurns, ConnectionError } from './client-turns'
import { type ClientWork, ConnectionShares } from './connection-shares'

/**
 * Maximum time for which a connection is passed from one statement to the next, in milliseconds. It then returns to the pool, because
 * other code of the application may wait there, such as a validator that queries through the data source.
 */
const maxPassingTime = 20
/**
 * Maximum number of connections that are requested from the pool at the same time. The pool serves requests in
 * order: with more of them, the application's own requests would wait longer.
 */
const maxPendingConnections = 4

/**
 * Queue of statements that wait for a connection of a pool. A statement that has finished passes its connection directly to the
 * next one: releasing it to the pool and acquiring it again costs as much as a fast statement.
 */
export class ConnectionQueue {
  readonly #shares: ConnectionShares
  readonly #turns: ClientTurns
  /** When each connection was acquired from the pool (`performance.now()`). */
  readonly #acquired = new WeakMap<QueryRunner, number>()
  /**
   * Requests for a connection that the pool has not served yet. From the time `lostFrom` (`performance.now()`) a request
   * does not count any more: the server may have failed without a response.
   */
  readonly #pendingConnections = new Set<{ readonly lostFrom: number }>()

  /**
   * @param connect acquires a connection from the pool, without a time limit
   * @param poolSize number of connections of the pool
   */
  constructor(
    private readonly connect: () => Promise<QueryRunner>,
    poolSize: number,
  ) {
    this.#shares = new ConnectionShares(poolSize)
    this.#turns = new ClientTurns(this.#shares, () => this.#requestConnection())
  }

  /**
   * Waits for a connection. The limit is needed because pools wait without one by default.
   * @param limit in milliseconds
   * @throws {ConnectionError} if the queue is full, the limit is exceeded or the database cannot be reached
   */
  acquire(work: ClientWork, limit: number): Promise<QueryRunner> {
    const connection = this.#turns.wait(work, limit)
    this.#requestConnection()
    return connection
  }

  /** Passes a connection whose statement has finished to the next waiting statement, or releases it to the pool. */
  pass(work: ClientWork, runner: QueryRunner): void {
    const acquired = this.#acquired.get(runner) ?? 0
    this.#shares.remove(work)
    if (performance.now() - acquired > maxPassingTime || runner.isReleased) void release(runner)
    else this.#passOn(runner)
    this.#requestConnection()
  }

  /** Releases a connection to the pool, for example because it may be broken. */
  async release(work: ClientWork, runner: QueryRunner): Promise<void> {
    this.#shares.remove(work)
    await release(runner)
    this.#requestConnection()
  }

  #passOn(runner: QueryRunner): void {
    if (!this.#turns.start(runner)) void release(runner)
  }

  /**
   * Requests a connection from the pool, unless enough requests are pending. If no connection can be made, the
   * statement whose turn it was at the time of the request is rejected.
   */
  #requestConnection(): void {
    const next = this.#turns.next()
    if (next === undefined) return
    const now = performance.now()
    for (const pending of this.#pendingConnections) {
      if (pending.lostFrom <= now) this.#pendingConnections.delete(pending)
    }
    if (this.#pendingConnections.size >= Math.min(this.#turns.size, maxPendingConnections)) return
    const pending = { lostFrom: now + next.limit }
    this.#pendingConnections.add(pending)
    this.connect()
      .then(
        (runner) => {
          this.#acquired.set(runner, performance.now())
          this.#passOn(runner)
        },
        (cause: unknown) => {
          // Without effect if this statement has received another connection meanwhile: each other statement requests a
          // connection of its own.
          next.reject(new ConnectionError('cannot connect to the database', { cause }))
        },
      )
      .finally(() => {
        this.#pendingConnections.delete(pending)
        this.#requestConnection()
      })
  }
}

function release(runner: QueryRunner): Promise<void> {
  return runner.release().catch(() => undefined)
}
