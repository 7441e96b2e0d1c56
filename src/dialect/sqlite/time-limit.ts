import type { Driver } from 'typeorm'
import type { Connection } from './connection'

/** Name of the SQL function that ends a statement of better-sqlite3. */
const functionName = 'typeorm_resources_in_time'

/** Rows between two looks at the clock. */
const rowsPerCheck = 256

/** A statement of better-sqlite3 was ended. The code is that of SQLite for an interrupted statement. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
  readonly code = 'SQLITE_INTERRUPT'
}

/** A condition that always holds, and ends the statement once its time is over. @param column one of the rows that are counted */
export function whileInTime(column: string): string {
  return `${functionName}(${column})`
}

/**
 * Adds the SQL function to a connection. better-sqlite3 runs a statement within one turn of the event loop and cannot interrupt it: only a
 * function that the statement itself calls can. It is measured from its first call in a turn.
 */
export function addTimeLimit(driver: Driver, milliseconds: number): void {
  const { databaseConnection } = driver as Driver & { readonly databaseConnection?: Connection }
  let start: number | undefined
  let rows = 0
  const forget = (): void => {
    start = undefined
  }
  databaseConnection?.function?.(functionName, { varargs: true }, () => {
    rows += 1
    if (start === undefined) {
      start = performance.now()
      setImmediate(forget)
    } else if (rows % rowsPerCheck === 0 && performance.now() - start > milliseconds) {
      throw new TimeLimitError(`the statement took longer than ${milliseconds} ms`)
    }
    return 1
  })
}

/**
 * Runs a statement of sqlite3, which works in a thread, and interrupts it when its time is over. Statements that run beside it are ended with
 * it.
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
    // The thread may not have begun with the statement, or be in between two steps of it.
    repeat = setInterval(() => connection.interrupt?.(), interruptIntervalMs)
  }, milliseconds)
  return run().finally(() => {
    clearTimeout(timer)
    clearInterval(repeat)
  })
}

/** Time between two interrupts of a statement that goes on. */
const interruptIntervalMs = 20
