/** Pauses in long synchronous work, in which other requests run. */
import { loopCount, maxBlockingMs, type Pause } from '../timers'
import { TurnQueue, type TurnTaker, turnName } from './turn-queue'

/** Work that pauses until it is its turn. */
interface PausedWork {
  readonly client: string
  readonly resume: () => void
}

const pausedWork = new TurnQueue<PausedWork>()

/**
 * Resolves after the event loop has polled for events of other requests. Only one pause ends between two polls: if long work of
 * many requests went on after the same poll, short requests would wait for a part of each. Clients take turns: otherwise many
 * requests of one client would make the work of another one as many times slower.
 * @param client whose work pauses; undefined for work of the application
 */
export async function nextPoll(client: TurnTaker | undefined): Promise<void> {
  // The first immediate may run before the poll: a callback that is scheduled by an event, such as the arrival of rows, runs
  // directly after the events.
  if (pausedWork.size === 0) setImmediate(() => setImmediate(endPause))
  await new Promise<void>((resume) => {
    pausedWork.add({ client: turnName(client), resume })
  })
}

/** Lets the work that has the next turn go on. */
function endPause(): void {
  pausedWork.startNext()?.resume()
  if (pausedWork.size > 0) setImmediate(endPause)
}

/**
 * Returns a function that makes a pause, in which other requests run, if the work has taken more than 10 milliseconds since the
 * last pause, or since the event loop polled because the work waited for something else, such as a statement.
 * @param client whose work it is; undefined for work of the application
 */
export function startPauses(client: TurnTaker | undefined): Pause {
  let iteration = loopCount()
  let start = performance.now()
  return async () => {
    if (performance.now() - start < maxBlockingMs) return
    if (loopCount() === iteration) await nextPoll(client)
    iteration = loopCount()
    start = performance.now()
  }
}

/**
 * Calls a function for each value. If this takes long, other requests may run in between.
 * @param client whose work it is; undefined for work of the application
 */
export async function mapWithPauses<From, To>(
  client: TurnTaker | undefined,
  values: readonly From[],
  map: (value: From) => To,
): Promise<readonly To[]> {
  const mapped: To[] = []
  let start = performance.now()
  for (const value of values) {
    mapped.push(map(value))
    // Without `startPauses`: to await each of many short values would take a noticeable part of the time.
    if (performance.now() - start < maxBlockingMs) continue
    await nextPoll(client)
    start = performance.now()
  }
  return mapped
}
