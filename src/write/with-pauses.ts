import { setImmediate } from 'node:timers/promises'

/** Default number of records between two pauses. */
const defaultInterval = 50

/**
 * The items of a list, with pauses in which other requests run. The driver better-sqlite3 is synchronous: without pauses, a
 * long sequence of statements would block the event loop.
 * @param interval number of records between two pauses
 */
export async function* withPauses<T>(items: readonly T[], interval = defaultInterval): AsyncGenerator<T> {
  for (const [index, item] of items.entries()) {
    if ((index + 1) % interval === 0) await setImmediate()
    yield item
  }
}
