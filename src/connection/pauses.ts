/** Pauses in long synchronous work, in which other requests run. */
import { loopCount, maxBlockingMs } from '../timers'
import { TurnQueue, type TurnTaker, turnName } from './turn-queue'

/** Work that pauses until it is its turn. */
interface PausedWork {
  readonly client: string
  readonly resume: () => void
}

const pausedWork = new TurnQueue<PausedWork>()
/** Whether the function that ends the pauses is going to run. */
let isEnding = false

/** The last iteration of the event loop in which work was measured, and when it began (`performance.now()`). Global, as the event loop is. */
let work = { iteration: -1, start: 0 }

/** Notes that synchronous work has been done since a time (`performance.now()`). */
export function noteWork(start: number): void {
  const iteration = loopCount()
  if (iteration !== work.iteration) work = { iteration, start }
}

/**
 * Whether work should pause: that of all requests in this iteration of the event loop has taken more than 10 milliseconds. It is
 * measured for all together, because the rows of many requests may arrive in one iteration.
 */
export function mustPause(): boolean {
  const now = performance.now()
  if (now - work.start < maxBlockingMs) return false
  noteWork(now)
  return now - work.start >= maxBlockingMs
}

/**
 * Lets other requests run if work has blocked the event loop for long. Clients take turns: otherwise many requests of one client
 * would make the work of another one as many times slower.
 * @param client whose work pauses; undefined for work of the application
 */
export async function pause(client: TurnTaker | undefined): Promise<void> {
  if (!mustPause()) return
  if (!isEnding) {
    isEnding = true
    // The first immediate may run before the event loop polls for events: work that follows the arrival of rows runs directly after
    // the events.
    setImmediate(() => setImmediate(endPauses))
  }
  await new Promise<void>((resume) => {
    pausedWork.add({ client: turnName(client), resume })
  })
}

/** Lets paused work go on, in turns, until it has taken as long as work may. */
function endPauses(): void {
  // Work of requests that have just arrived does not count: it could make paused work wait forever.
  work = { iteration: loopCount(), start: performance.now() }
  endPause()
}

function endPause(): void {
  pausedWork.startNext()?.resume()
  // Ticks run when no promise callback is left, which means that the work has paused again, waits for something else or is done.
  queueMicrotask(() => process.nextTick(endNextPause))
}

function endNextPause(): void {
  if (pausedWork.size === 0) isEnding = false
  else if (mustPause()) setImmediate(endPauses)
  else endPause()
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
  for (const value of values) {
    // To await each of many short values would take a noticeable part of the time.
    if (mustPause()) await pause(client)
    mapped.push(map(value))
  }
  return mapped
}
