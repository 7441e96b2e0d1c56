import { TurnQueue, turnName } from '../connection/turn-queue'
import { SqliteLockError } from './lock-error'
import type { Sender } from './sender'
import { afterPause, mustClientWait, mustWait, noteSender } from './statement-pauses'

/** How a statement uses the connection: together with other statements, or alone. A transaction uses it alone. */
export type Use = 'shared' | 'exclusive'

/** Releases what was acquired. */
export type Release = () => void

/** Maximum number of statements that share the connection. */
const maxShared = 64
/** Maximum number of waiting statements and transactions, because each takes memory. */
const maxWaiting = 1000

/** A statement or transaction that waits for the connection. */
interface WaitingTask {
  readonly client: string
  readonly sender: Sender | undefined
  readonly permits: number
  readonly resolve: (release: Release) => void
  readonly reject: (error: SqliteLockError) => void
}

/** Whose task it is, for the number of waiting tasks: all those of the application are of one owner. */
const ownerOf = ({ sender }: WaitingTask): string => turnName(sender)

/** A place in the queue. */
export interface Place {
  /** Resolves when the connection can be used. Rejected if too many tasks wait. */
  readonly acquired: Promise<Release>
  /** Leaves the queue. If the connection has been acquired meanwhile, releases it. */
  readonly leave: () => void
}

/**
 * Queue of the statements and transactions that need the connection of a SQLite data source. Clients take turns. After a statement that
 * has blocked the event loop for long, its client waits, so that the requests of others can go on: see `statement-pauses.ts`.
 */
export class LockQueue {
  /** Permits that are free: a statement that shares the connection takes one, and one that uses it alone takes all. */
  #free = maxShared
  readonly #waiting = new TurnQueue<WaitingTask>()

  readonly #releaseOne = (): void => this.#release(1)
  readonly #releaseAll = (): void => this.#release(maxShared)

  /** Acquires the connection without a promise, the fast path. @returns undefined if the caller must wait for its turn */
  tryAcquire(use: Use, sender: Sender | undefined): Release | undefined {
    const permits = permitsOf(use)
    if (this.#free < permits || this.#waiting.size > 0 || mustWait(sender)) return undefined
    return this.#take(permits, sender)
  }

  /** Acquires the connection although it may be in use: for a transaction that had begun before the lock was installed. */
  takeAll(): Release {
    return this.#take(maxShared, undefined)
  }

  /** Waits for a turn. If too many tasks wait, the newest one of the client that has most is rejected. */
  wait(use: Use, sender: Sender | undefined): Place {
    let leave: Place['leave'] = () => undefined
    const acquired = new Promise<Release>((resolve, reject) => {
      const task = { client: turnName(sender) || newName(), sender, permits: permitsOf(use), resolve, reject }
      leave = () => {
        if (!this.#waiting.remove(task)) {
          // It has been acquired or rejected meanwhile.
          acquired.then(
            (release) => release(),
            () => undefined,
          )
        }
        this.#start()
      }
      this.#add(task)
    })
    return { acquired, leave }
  }

  #add(task: WaitingTask): void {
    this.#waiting.add(task)
    const newest = this.#waiting.size > maxWaiting ? this.#waiting.newestOfMost(ownerOf) : undefined
    if (newest !== undefined) {
      this.#waiting.remove(newest)
      newest.reject(
        new SqliteLockError(`${maxWaiting} statements and transactions are already waiting for the only connection`),
      )
    }
    this.#start()
  }

  #take(permits: number, sender: Sender | undefined): Release {
    this.#free -= permits
    noteSender(sender)
    return permits === 1 ? this.#releaseOne : this.#releaseAll
  }

  #release(permits: number): void {
    this.#free += permits
    if (this.#waiting.size > 0) this.#start()
  }

  /** Starts the tasks whose turn it is. */
  readonly #start = (): void => {
    for (let task = this.#next(); task !== undefined && task.permits <= this.#free; task = this.#next()) {
      this.#waiting.start(task)
      task.resolve(this.#take(task.permits, task.sender))
    }
  }

  /** The task with the next turn, whose client does not pause. If all clients pause, they are started afterwards. */
  #next(): WaitingTask | undefined {
    for (const [client, tasks] of this.#waiting) {
      if (mustClientWait(client)) continue
      const [first] = tasks
      return first
    }
    if (this.#waiting.size > 0) afterPause(this.#start)
    return undefined
  }
}

const permitsOf = (use: Use): number => (use === 'shared' ? 1 : maxShared)

let nameCount = 0

/** Name for a statement of the application, which may belong to any request: it takes turns as a client of its own. */
const newName = (): string => `application ${nameCount++}`
