import { setImmediate } from 'node:timers/promises'

/** Number of records between two pauses. */
const interval = 50

/**
 * The items of a list, with pauses in which other requests run. The driver better-sqlite3 is synchronous: without pauses, a
 * long sequence of statements would block the event loop.
 */
export async function* withPauses<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const [index, item] of items.entries()) {
    if ((index + 1) % interval === 0) await setImmediate()
    yield item
  }
}
