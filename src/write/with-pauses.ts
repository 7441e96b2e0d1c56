import { startPauses } from '../timers'

/**
 * The items of a list, with pauses in which other requests run if the work between them takes long. The driver better-sqlite3
 * is synchronous: without pauses, a long sequence of statements would block the event loop.
 */
export async function* withPauses<T>(items: readonly T[]): AsyncGenerator<T> {
  const pause = startPauses()
  for (const item of items) {
    yield item
    await pause()
  }
}
