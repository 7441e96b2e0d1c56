import { ClientCounts } from '../access/client-counts'

/** Thrown when no connection to the database is available. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** Maximum number of statements, or of transactions, that wait, because each takes memory. Further ones are rejected at once. */
const maxWaiting = 1000

/** A statement or transaction that waits. */
export interface Waiter<T> {
  readonly client: string
  /** Maximum time that it waits, in milliseconds. */
  readonly limit: number
  readonly resolve: (value: T) => void
  readonly reject: (error: ConnectionError) => void
}

/**
 * Queue of statements or transactions in which clients take turns: otherwise, many slow ones of one client would delay those of
 * all others. Their number is limited for each client, so that one client cannot use all connections at the same time.
 * @template T what they wait for, such as a connection
 */
export class ClientTurns<T> {
  /** The waiting ones of each client that has any, the oldest first. The first client has the next turn. */
  readonly #waiting = new Map<string, Set<Waiter<T>>>()
  #size = 0
  readonly #running = new ClientCounts()

  /** @param maxOfClient maximum number of one client that run at the same time */
  constructor(private readonly maxOfClient: number) {}

  /** Number of those that wait. */
  get size(): number {
    return this.#size
  }

  /** The one whose turn it is; undefined if none waits, or only those of clients that have reached their maximum. */
  get next(): Waiter<T> | undefined {
    for (const [client, ofClient] of this.#waiting) {
      if (this.#running.of(client) < this.maxOfClient) return ofClient.values().next().value
    }
    return undefined
  }

  /**
   * Waits for the turn of a client. If too many wait, the newest one of the client that has most is rejected.
   * @param client name of the client
   * @param limit in milliseconds
   * @throws {ConnectionError} if too many wait, or the limit is exceeded
   */
  async wait(client: string, limit: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer)
        this.#remove(waiter)
      }
      const waiter: Waiter<T> = {
        client,
        limit,
        resolve: (value) => {
          stopWaiting()
          resolve(value)
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
      if (this.#size > maxWaiting) this.#rejectOne()
    })
  }

  /** Starts the next one with the value that it waits for. @returns false if none can start */
  start(value: T): boolean {
    const { next } = this
    if (next === undefined) return false
    this.#running.add(next.client)
    next.resolve(value)
    this.#endTurn(next.client)
    return true
  }

  /** Counts that one of a client has ended. */
  end(client: string): void {
    this.#running.remove(client)
  }

  #add(waiter: Waiter<T>): void {
    const ofClient = this.#waiting.get(waiter.client) ?? new Set()
    this.#waiting.set(waiter.client, ofClient.add(waiter))
    this.#size += 1
  }

  #remove(waiter: Waiter<T>): void {
    const ofClient = this.#waiting.get(waiter.client)
    if (!ofClient?.delete(waiter)) return
    this.#size -= 1
    if (ofClient.size === 0) this.#waiting.delete(waiter.client)
  }

  /** Makes the next turn of a client the last one. */
  #endTurn(client: string): void {
    const ofClient = this.#waiting.get(client)
    if (ofClient === undefined) return
    this.#waiting.delete(client)
    this.#waiting.set(client, ofClient)
  }

  /** Rejects the newest one of the client that has most. Of clients with equal numbers, it is that with the last turn. */
  #rejectOne(): void {
    const most = [...this.#waiting.values()].toSorted((one, other) => one.size - other.size).at(-1)
    const newest = most && [...most].at(-1)
    newest?.reject(new ConnectionError(`${maxWaiting} others are already waiting for a connection`))
  }
}
