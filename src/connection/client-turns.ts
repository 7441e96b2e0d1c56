import type { QueryRunner } from 'typeorm'
import type { ClientWork, ConnectionShares, WorkKind } from './connection-shares'
import { Reservation } from './reservation'
import { TurnQueue } from './turn-queue'

/** Property of the connection errors of all copies of this package. Other libraries have errors with the same name. */
const connectionError = Symbol.for('typeorm-resources.ConnectionError')

/** Thrown when no connection to the database is available. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly [connectionError] = true
}

/** Whether an error is a {@link ConnectionError}, also of another copy of this package: copies share the queue of a data source. */
export function isConnectionError(error: unknown): boolean {
  return error instanceof Error && connectionError in error
}

/** Maximum number of waiting tasks, because each takes memory. Further ones are rejected at once. */
const maxWaiting = 1000

/** Time that a task waits until connections are reserved for it, in milliseconds. */
const timeWithoutReservation = 250

/** A statement or a transaction that waits for a connection. */
export interface WaitingTask extends ClientWork {
  /** When it started to wait (`performance.now()`). */
  readonly since: number
  /** Maximum time that it waits, in milliseconds. */
  readonly limit: number
  readonly resolve: (connection: QueryRunner) => void
  readonly reject: (error: ConnectionError) => void
}

/**
 * Queue of tasks (statements or transactions) in which clients take turns, so that many slow tasks of one client do not delay those
 * of others. A task that the {@link ConnectionShares} do not allow yet is passed over.
 *
 * A client whose work takes long needs several free connections for another task. In its turn they are reserved, see
 * {@link Reservation}.
 */
export class ClientTurns {
  readonly #waiting = new TurnQueue<WaitingTask>()
  readonly #reservation = new Reservation()

  /** @param onReservationEnd is called when other clients can use the connections again that were reserved */
  constructor(
    private readonly shares: ConnectionShares,
    private readonly onReservationEnd: () => void,
  ) {}

  /** Number of waiting tasks. */
  get size(): number {
    return this.#waiting.size
  }

  /**
   * Finds the task whose turn it is. May reserve connections.
   * @returns undefined if no task waits, or only tasks that the shares do not allow
   */
  next(): WaitingTask | undefined {
    if (this.shares.areUsed) return undefined
    const { client: reservedFor } = this.#reservation
    if (reservedFor !== undefined) {
      const reserved = this.#waiting.tasksOf(reservedFor)
      if (reserved !== undefined) return this.#firstAllowed(reservedFor, reserved)
      this.#reservation.end()
    }
    for (const [client, tasks] of this.#waiting) {
      const task = this.#firstAllowed(client, tasks)
      if (task !== undefined) return task
      if (this.#mayReserve(tasks)) {
        this.#reserve(client)
        return undefined
      }
    }
    return undefined
  }

  #firstAllowed(client: string, tasks: Iterable<WaitingTask>): WaitingTask | undefined {
    if (!this.shares.allows({ client, kind: 'read' })) return undefined
    const refused: WorkKind[] = []
    for (const task of tasks) {
      if (refused.includes(task.kind)) continue
      if (this.shares.allows(task)) return task
      refused.push(task.kind)
    }
    return undefined
  }

  #mayReserve(tasks: Iterable<WaitingTask>): boolean {
    if (!this.#reservation.isPossible) return false
    const now = performance.now()
    for (const task of tasks) {
      if (now - task.since <= timeWithoutReservation) return false
      if (this.shares.couldAllow(task)) return true
    }
    return false
  }

  #reserve(client: string): void {
    this.#reservation.start(client, () => {
      this.#waiting.endTurn(client)
      this.onReservationEnd()
    })
  }

  /**
   * Adds a task, and waits for its turn. If too many tasks wait, the newest one of the client that has most is rejected.
   * @param limit in milliseconds
   * @throws {ConnectionError} if too many tasks wait, or the limit is exceeded
   */
  async wait({ client, kind }: ClientWork, limit: number): Promise<QueryRunner> {
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer)
        this.#waiting.remove(task)
      }
      const task: WaitingTask = {
        client,
        kind,
        since: performance.now(),
        limit,
        resolve: (connection) => {
          stopWaiting()
          resolve(connection)
        },
        reject: (error) => {
          stopWaiting()
          reject(error)
        },
      }
      const timer = setTimeout(
        () =>
          task.reject(
            new ConnectionError(
              `no connection was free for ${limit} ms: all are in use, or the client has its share of them (poolSize)`,
            ),
          ),
        limit,
      )
      this.#waiting.add(task)
      if (this.size > maxWaiting) this.#rejectOne()
    })
  }

  /** Starts the next task with a connection. @returns false if none can start */
  start(connection: QueryRunner): boolean {
    const next = this.next()
    if (next === undefined) return false
    this.#reservation.end()
    this.shares.add(next)
    this.#waiting.start(next)
    next.resolve(connection)
    return true
  }

  #rejectOne(): void {
    this.#waiting
      .newestOfMost()
      ?.reject(new ConnectionError(`${maxWaiting} statements or transactions are already waiting for a connection`))
  }
}
