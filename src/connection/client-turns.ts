import { ClientCounts } from '../access/client-counts'

/** Thrown when no connection to the database is available. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** Maximum number of waiting tasks, because each takes memory. Further ones are rejected at once. */
const maxWaiting = 1000

/** A statement or a transaction that waits for its turn. */
export interface WaitingTask<T> {
  readonly client: string
  /** Maximum time that it waits, in milliseconds. */
  readonly limit: number
  readonly resolve: (value: T) => void
  readonly reject: (error: ConnectionError) => void
}

/**
 * Queue of tasks (statements or transactions) in which clients take turns, so that many slow tasks of one client do not delay those
 * of others. It also limits how many tasks of one client run at the same time.
 * @template T what a task waits for, such as a connection
 */
export class ClientTurns<T> {
  /** The waiting tasks of each client that has any, the oldest first. The first client has the next turn. */
  readonly #waiting = new Map<string, Set<WaitingTask<T>>>()
  #size = 0
  readonly #running = new ClientCounts()

  /** @param maxRunningOfClient maximum number of running tasks of one client */
  constructor(private readonly maxRunningOfClient: number) {}

  /** Number of waiting tasks. */
  get size(): number {
    return this.#size
  }

  /** The task whose turn it is; undefined if no task waits, or only tasks of clients with the maximum number of running tasks. */
  get next(): WaitingTask<T> | undefined {
    for (const [client, ofClient] of this.#waiting) {
      if (this.#running.of(client) < this.maxRunningOfClient) return ofClient.values().next().value
    }
    return undefined
  }

  /**
   * Adds a task, and waits for its turn. If too many tasks wait, the newest one of the client that has most is rejected.
   * @param client name of the client
   * @param limit in milliseconds
   * @throws {ConnectionError} if too many tasks wait, or the limit is exceeded
   */
  async wait(client: string, limit: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer)
        this.#remove(task)
      }
      const task: WaitingTask<T> = {
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
        () => task.reject(new ConnectionError(`no connection was free for this client for ${limit} ms`)),
        limit,
      )
      this.#add(task)
      if (this.#size > maxWaiting) this.#rejectOne()
    })
  }

  /** Starts a task of a client without a turn, if no task waits. @returns false if it must wait */
  startAtOnce(client: string): boolean {
    if (this.#size > 0 || this.#running.of(client) >= this.maxRunningOfClient) return false
    this.#running.add(client)
    return true
  }

  /** Starts the next task. @param value what it waits for. @returns false if none can start */
  start(value: T): boolean {
    const { next } = this
    if (next === undefined) return false
    this.#running.add(next.client)
    next.resolve(value)
    this.#endTurn(next.client)
    return true
  }

  /** Notes that a running task of a client has ended. */
  end(client: string): void {
    this.#running.remove(client)
  }

  #add(task: WaitingTask<T>): void {
    const ofClient = this.#waiting.get(task.client) ?? new Set()
    this.#waiting.set(task.client, ofClient.add(task))
    this.#size += 1
  }

  #remove(task: WaitingTask<T>): void {
    const ofClient = this.#waiting.get(task.client)
    if (!ofClient?.delete(task)) return
    this.#size -= 1
    if (ofClient.size === 0) this.#waiting.delete(task.client)
  }

  /** Makes the next turn of a client the last one. */
  #endTurn(client: string): void {
    const ofClient = this.#waiting.get(client)
    if (ofClient === undefined) return
    this.#waiting.delete(client)
    this.#waiting.set(client, ofClient)
  }

  /** Rejects the newest task of the client that has most. Of clients with equal numbers, it is the one with the last turn. */
  #rejectOne(): void {
    let most = new Set<WaitingTask<T>>()
    for (const tasks of this.#waiting.values()) if (tasks.size >= most.size) most = tasks
    const newest = [...most].at(-1)
    newest?.reject(new ConnectionError(`${maxWaiting} statements or transactions are already waiting for a connection`))
  }
}
