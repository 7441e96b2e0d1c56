import { startPauses } from '../connection/pauses'
import type { TurnTaker } from '../connection/turn-queue'

/**
 * The items of a list, with pauses in which other requests run if the work between them takes long. The driver better-sqlite3
 * is synchronous: without pauses, a long sequence of statements would block the event loop.
 * @param client whose request it is
 */
export async function* withPauses<T>(client: TurnTaker, items: readonly T[]): AsyncGenerator<T> {
  const pause = startPauses(client)
  for (const item of items) {
    yield item
    await pause()
  }
}
