import type { QueryRunner } from 'typeorm'

/** No connection was to be had. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** More are told at once: each that waits takes memory. */
const maxWaitingStatements = 1000
/** Statements in a row on one connection, before the pool has it back: the application's own code waits there. */
const maxStatementsInRow = 10
/** Connections that the pool is asked for at a time: whoever asks it later comes behind them. */
const maxPendingConnections = 4

/** One who waits for a connection. */
interface Waiter {
  readonly take: (runner: QueryRunner) => void
  readonly fail: (error: ConnectionError) => void
}

/**
 * Those who wait for a connection of a pool, the first first. A statement hands its connection to the next, past the pool: to give it
 * back and to take it again costs as much as a quick statement itself.
 */
export class ConnectionQueue {
  readonly #waiting = new Set<Waiter>()
  readonly #turns = new WeakMap<QueryRunner, number>()
  /** What the pool has been asked for, each with the time from which on it may be lost, with its server. */
  readonly #asked = new Set<{ readonly lostFrom: number }>()

  /** @param connect takes a connection from the pool, however long that takes */
  constructor(private readonly connect: () => Promise<QueryRunner>) {}

  /**
   * Waits for a connection. Pools have their clients wait for ever, unless they are told otherwise.
   * @param limit in milliseconds
   * @throws {ConnectionError}
   */
  async take(limit: number): Promise<QueryRunner> {
    const { size } = this.#waiting
    if (size >= maxWaitingStatements) throw new ConnectionError(`${size} wait for a connection already`)
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(waiter)
      }
      const waiter: Waiter = {
        take: (runner) => {
          end()
          resolve(runner)
        },
        fail: (error) => {
          end()
          reject(error)
        },
      }
      const timer = setTimeout(() => waiter.fail(new ConnectionError(`no connection was free for ${limit} ms`)), limit)
      this.#waiting.add(waiter)
      this.#ask(limit)
    })
  }

  /** Hands a connection that has done its statement to the next, or back to the pool. */
  give(runner: QueryRunner): void {
    const turns = (this.#turns.get(runner) ?? 0) + 1
    this.#turns.set(runner, turns)
    if (turns < maxStatementsInRow && !runner.isReleased) this.#pass(runner)
    else release(runner)
  }

  #pass(runner: QueryRunner): void {
    const [next] = this.#waiting
    if (next === undefined) release(runner)
    else next.take(runner)
  }

  /** Asks the pool for a connection, where too few are asked for, in the name of who waits longest. */
  #ask(limit: number): void {
    const now = performance.now()
    for (const one of this.#asked) if (one.lostFrom <= now) this.#asked.delete(one)
    const [first] = this.#waiting
    if (first === undefined || this.#asked.size >= Math.min(this.#waiting.size, maxPendingConnections)) return
    const asked = { lostFrom: now + limit }
    this.#asked.add(asked)
    this.connect()
      .then(
        (runner) => this.#pass(runner),
        (cause: unknown) => {
          // Who was served meanwhile has no error, nor has who came later.
          if (this.#waiting.has(first)) {
            first.fail(new ConnectionError('the database cannot be connected to', { cause }))
          }
        },
      )
      .finally(() => {
        this.#asked.delete(asked)
        this.#ask(limit)
      })
  }
}

function release(runner: QueryRunner): void {
  runner.release().catch(() => undefined)
}
