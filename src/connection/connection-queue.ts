import type { QueryRunner } from 'typeorm'

/** Thrown when no connection to the database is available. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** Maximum number of statements that wait for a connection, because each takes memory. Further ones are rejected at once. */
const maxWaitingStatements = 1000
/**
 * Maximum number of statements that run one after another on a connection. It then returns to the pool, because other
 * code of the application may wait there.
 */
const maxStatementsInRow = 10
/**
 * Maximum number of connections that are requested from the pool at the same time. The pool serves requests in
 * order: with more of them, the application's own requests would wait longer.
 */
const maxPendingConnections = 4

/** A statement that waits for a connection. */
interface Waiter {
  readonly resolve: (runner: QueryRunner) => void
  readonly reject: (error: ConnectionError) => void
}

/**
 * Queue of statements that wait for a connection of a pool, first in, first out. A statement that has finished passes
 * its connection directly to the next one: releasing it to the pool and acquiring it again costs as much as a fast
 * statement.
 */
export class ConnectionQueue {
  readonly #waiting = new Set<Waiter>()
  /** Statements that have run on each connection since it was acquired from the pool. */
  readonly #statementCounts = new WeakMap<QueryRunner, number>()
  /**
   * Requests for a connection that the pool has not served yet. From the time `lostFrom` (`performance.now()`) a request
   * does not count any more: the server may have failed without a response.
   */
  readonly #pendingConnections = new Set<{ readonly lostFrom: number }>()

  /** @param connect acquires a connection from the pool, without a time limit */
  constructor(private readonly connect: () => Promise<QueryRunner>) {}

  /**
   * Waits for a connection. The limit is needed because pools wait without one by default.
   * @param limit in milliseconds
   * @throws {ConnectionError} if the queue is full, the limit is exceeded or the database cannot be reached
   */
  async acquire(limit: number): Promise<QueryRunner> {
    const { size } = this.#waiting
    if (size >= maxWaitingStatements) {
      throw new ConnectionError(`${size} statements are already waiting for a connection`)
    }
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(waiter)
      }
      const waiter: Waiter = {
        resolve: (runner) => {
          stopWaiting()
          resolve(runner)
        },
        reject: (error) => {
          stopWaiting()
          reject(error)
        },
      }
      const timer = setTimeout(
        () => waiter.reject(new ConnectionError(`no connection was free for ${limit} ms`)),
        limit,
      )
      this.#waiting.add(waiter)
      this.#requestConnection(limit)
    })
  }

  /** Passes a connection whose statement has finished to the next waiting statement, or releases it to the pool. */
  release(runner: QueryRunner): void {
    const statementCount = (this.#statementCounts.get(runner) ?? 0) + 1
    this.#statementCounts.set(runner, statementCount)
    if (statementCount < maxStatementsInRow && !runner.isReleased) this.#passOn(runner)
    else release(runner)
  }

  #passOn(runner: QueryRunner): void {
    const [next] = this.#waiting
    if (next === undefined) release(runner)
    else next.resolve(runner)
  }

  /**
   * Requests a connection from the pool, unless enough requests are pending. If no connection can be made, the
   * statement that was first in the queue at the time of the request is rejected.
   * @param limit milliseconds after which a pending request counts as lost
   */
  #requestConnection(limit: number): void {
    const now = performance.now()
    for (const pending of this.#pendingConnections) {
      if (pending.lostFrom <= now) this.#pendingConnections.delete(pending)
    }
    const [first] = this.#waiting
    const maxPending = Math.min(this.#waiting.size, maxPendingConnections)
    if (first === undefined || this.#pendingConnections.size >= maxPending) return
    const pending = { lostFrom: now + limit }
    this.#pendingConnections.add(pending)
    this.connect()
      .then(
        (runner) => this.#passOn(runner),
        (cause: unknown) => {
          // If the first statement has received another connection meanwhile, the error is ignored: each other statement
          // requests a connection of its own.
          if (this.#waiting.has(first)) {
            first.reject(new ConnectionError('cannot connect to the database', { cause }))
          }
        },
      )
      .finally(() => {
        this.#pendingConnections.delete(pending)
        this.#requestConnection(limit)
      })
  }
}

function release(runner: QueryRunner): void {
  runner.release().catch(() => undefined)
}
