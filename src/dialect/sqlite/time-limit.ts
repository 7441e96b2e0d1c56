import type { Driver } from 'typeorm'
import { loopCount, maxBlockingMs } from '../../timers'
import type { Connection, PreparedStatement } from './connection'

/** Name of the SQL function that aborts a statement of better-sqlite3 after its time limit. */
const functionName = 'typeorm_resources_in_time'

/**
 * Thrown when a statement of better-sqlite3 exceeds its time limit. SQLite has this code for interrupted statements.
 */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
  readonly code = 'SQLITE_INTERRUPT'
}

/**
 * Predicate that is always true, and that aborts the statement when its time limit is exceeded.
 * @param column a column; the time is checked for each row of its table that SQLite evaluates
 */
export function timeLimitSql(column: string): string {
  return `${functionName}(${column})`
}

/**
 * Defines the SQL function on a connection. better-sqlite3 runs a statement synchronously and cannot interrupt it; only
 * a function that the statement itself calls can abort it. The time is measured from the first call of the function in
 * the current iteration of the event loop; for a statement that {@link timeAlone} wraps, from its own first call.
 */
export function addTimeLimit(driver: Driver, milliseconds: number): void {
  const { databaseConnection } = driver as Driver & { readonly databaseConnection?: Connection }
  databaseConnection?.function?.(functionName, { varargs: true }, () => {
    if (start === undefined) {
      start = performance.now()
      if (!willReset) setImmediate(resetStart)
      willReset = true
    } else if (performance.now() - start > milliseconds) {
      throw new TimeLimitError(`the statement took longer than ${milliseconds} ms`)
    }
    return 1
  })
}

/** Time of the first call; undefined before it. Global, because better-sqlite3 runs one statement at a time. */
let start: number | undefined
let willReset = false
const resetStart = (): void => {
  start = undefined
  willReset = false
}

/**
 * Restarts the time measurement whenever a prepared statement of better-sqlite3 runs, so that statements that ran
 * before it in the same iteration of the event loop do not count, and notes whether it has taken long, see {@link hasBlocked}.
 * Other statements than those with the SQL function are not changed.
 */
export function timeAlone(statement: PreparedStatement, sql: string): PreparedStatement {
  if (!sql.includes(functionName)) return statement
  statement.all = timed(statement.all.bind(statement))
  statement.run = timed(statement.run.bind(statement))
  return statement
}

/** A statement of better-sqlite3 that has blocked the event loop for long. */
export interface LongStatement {
  /** The iteration of the event loop in which it ran. */
  readonly iteration: number
  /** End of the pause after it, by `performance.now()`: other requests have a tenth of its time, in which they can take several steps. */
  readonly pauseEnd: number
}

let longStatement: LongStatement | undefined

/** The last long statement of this process; undefined if there was none. */
export const lastLongStatement = (): LongStatement | undefined => longStatement

/** Whether a long statement has run since the event loop has polled for events of other requests. */
export function hasBlocked(): boolean {
  return longStatement !== undefined && longStatement.iteration === loopCount()
}

/** Callbacks of the work that waits for the end of the pause, in this order. */
const pausedWork: (() => void)[] = []

/**
 * Waits for the end of the pause after a long statement. Paused work goes on in its order, and only one part after each pause: its
 * statement may take long too.
 */
export async function pauseAfterLongStatement(): Promise<void> {
  if (pausedWork.length === 0 && !isPause()) return
  await new Promise<void>((resolve) => {
    pausedWork.push(resolve)
    if (pausedWork.length === 1) setTimeout(endPause, pauseLeft())
  })
}

const pauseLeft = (): number => Math.max(1, (longStatement?.pauseEnd ?? 0) - performance.now())

const isPause = (): boolean =>
  longStatement !== undefined && (performance.now() < longStatement.pauseEnd || hasBlocked())

function endPause(): void {
  if (!isPause()) pausedWork.shift()?.()
  if (pausedWork.length > 0) setTimeout(endPause, pauseLeft())
}

const maxPauseMs = 100

function timed(run: PreparedStatement['run']): PreparedStatement['run'] {
  return (...values) => {
    start = undefined
    const began = performance.now()
    try {
      return run(...values)
    } finally {
      const now = performance.now()
      const time = now - began
      if (time > maxBlockingMs) {
        longStatement = { iteration: loopCount(), pauseEnd: now + Math.min(time / 10, maxPauseMs) }
      }
    }
  }
}

/**
 * Runs a statement of sqlite3, which works in a thread, and interrupts it after its time limit. All other statements
 * that run on the connection at that moment are interrupted too.
 */
export async function interruptAfter<T>(
  connection: Connection | undefined,
  milliseconds: number,
  run: () => Promise<T>,
): Promise<T> {
  if (connection?.interrupt === undefined || milliseconds === Number.POSITIVE_INFINITY) return run()
  let repeat: NodeJS.Timeout | undefined
  const timer = setTimeout(() => {
    connection.interrupt?.()
    // An interrupt has no effect before the thread begins the statement and between two of its steps, so it is
    // repeated.
    repeat = setInterval(() => connection.interrupt?.(), interruptIntervalMs)
  }, milliseconds)
  return run().finally(() => {
    clearTimeout(timer)
    clearInterval(repeat)
  })
}

/** Time between two interrupts of the same statement. */
const interruptIntervalMs = 20
