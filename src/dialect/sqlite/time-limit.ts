import type { Driver } from 'typeorm'
import type { Connection } from './connection'

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
 * the current iteration of the event loop, or after {@link restartTimeLimit}.
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
 * Restarts the time measurement, before a statement of better-sqlite3: statements that ran before it in the same iteration of the
 * event loop do not count.
 */
export function restartTimeLimit(): void {
  start = undefined
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
