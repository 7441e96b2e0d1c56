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
  readonly client: string
  readonly resolve: (runner: QueryRunner) => void
  readonly reject: (error: ConnectionError) => void
}

/**
 * Queue of statements that wait for a connection of a pool. Clients take turns: otherwise, many slow statements of one client
 * would delay those of all others. A statement that has finished passes its connection directly to the next one: releasing it
 * to the pool and acquiring it again costs as much as a fast statement.
 */
export class ConnectionQueue {
  /** The waiting statements of each client that has any, the oldest first. The first client has the next turn. */
  readonly #waiting = new Map<string, Set<Waiter>>()
  #size = 0
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
   * @param client identifies the client of the statement
   * @param limit in milliseconds
   * @throws {ConnectionError} if the queue is full, the limit is exceeded or the database cannot be reached
   */
  async acquire(client: string, limit: number): Promise<QueryRunner> {
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer)
        this.#remove(waiter)
      }
      const waiter: Waiter = {
        client,
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
      this.#add(waiter)
      if (this.#size > maxWaitingStatements) this.#rejectOne()
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

  #add(waiter: Waiter): void {
    const ofClient = this.#waiting.get(waiter.client) ?? new Set()
    this.#waiting.set(waiter.client, ofClient.add(waiter))
    this.#size += 1
  }

  #remove(waiter: Waiter): void {
    const ofClient = this.#waiting.get(waiter.client)
    if (!ofClient?.delete(waiter)) return
    this.#size -= 1
    if (ofClient.size === 0) this.#waiting.delete(waiter.client)
  }

  /** The statement whose turn it is. */
  get #next(): Waiter | undefined {
    const [ofClient] = this.#waiting.values()
    return ofClient?.values().next().value
  }

  /** Rejects the newest statement of the client that has most. */
  #rejectOne(): void {
    const [most] = [...this.#waiting.values()].toSorted((one, other) => other.size - one.size)
    const newest = most && [...most].at(-1)
    newest?.reject(new ConnectionError(`${maxWaitingStatements} statements are already waiting for a connection`))
  }

  #passOn(runner: QueryRunner): void {
    const next = this.#next
    if (next === undefined) release(runner)
    else {
      next.resolve(runner)
      this.#endTurn(next.client)
    }
  }

  /** Makes the next turn of a client the last one. */
  #endTurn(client: string): void {
    const ofClient = this.#waiting.get(client)
    if (ofClient === undefined) return
    this.#waiting.delete(client)
    this.#waiting.set(client, ofClient)
  }

  /**
   * Requests a connection from the pool, unless enough requests are pending. If no connection can be made, the
   * statement whose turn it was at the time of the request is rejected.
   * @param limit milliseconds after which a pending request counts as lost
   */
  #requestConnection(limit: number): void {
    const now = performance.now()
    for (const pending of this.#pendingConnections) {
      if (pending.lostFrom <= now) this.#pendingConnections.delete(pending)
    }
    const first = this.#next
    const maxPending = Math.min(this.#size, maxPendingConnections)
    if (first === undefined || this.#pendingConnections.size >= maxPending) return
    const pending = { lostFrom: now + limit }
    this.#pendingConnections.add(pending)
    this.connect()
      .then(
        (runner) => this.#passOn(runner),
        (cause: unknown) => {
          // Without effect if this statement has received another connection meanwhile: each other statement requests a
          // connection of its own.
          first.reject(new ConnectionError('cannot connect to the database', { cause }))
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
