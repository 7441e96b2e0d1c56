/** Pauses in long synchronous work, in which other requests run. */
// Not the global ones: fake timers of Jest and others replace them, and would keep paused work from going on.
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers'
import { loopCount, maxBlockingMs } from '../timers'
import { TurnQueue, type TurnTaker, turnName } from './turn-queue'

/** The members of a session that decide when its paused work goes on. */
export interface PausableSession extends TurnTaker {
  /** Connection of the session's transaction; undefined outside of transactions. */
  readonly runner: object | undefined
}

/** Work that pauses until it is its turn. */
interface PausedWork {
  readonly client: string
  readonly resume: () => void
}

/** Paused work in transactions, and other paused work. They have turns alternately. */
const inTransactions = new TurnQueue<PausedWork>()
const outsideTransactions = new TurnQueue<PausedWork>()
/** The queue that had the last turn. */
let lastQueue = outsideTransactions
/** Whether {@link startResuming} is scheduled, or paused work is going on. */
let isResuming = false
const { nextTick } = process

/** The last iteration of the event loop in which work was noted, and when it began (`performance.now()`). Global, as the event loop is. */
let noted = { iteration: -1, start: 0 }

/** Notes that work began at a time (`performance.now()`), unless work was noted in this iteration of the event loop already. */
export function noteWork(start: number): void {
  const iteration = loopCount()
  if (iteration !== noted.iteration) noted = { iteration, start }
}

/**
 * Whether work should pause: 10 milliseconds have passed since work was noted first in this iteration of the event loop. All requests
 * share this time, because the rows of many may arrive in one iteration. Paused work has another 10 milliseconds.
 */
export function mustPause(): boolean {
  const now = performance.now()
  // To read the clock is faster than to read the iteration. Therefore the first 10 milliseconds of an iteration may not be noted.
  if (now - noted.start < maxBlockingMs) return false
  noteWork(now)
  return now - noted.start >= maxBlockingMs
}

/**
 * Waits until other requests have run, if work has taken long ({@link mustPause}). Called between the steps of long work, such as rendering,
 * or statements of better-sqlite3, which are synchronous. Clients take turns: otherwise a client with 20 requests would make the work of
 * another one 20 times slower. Work in transactions has every second turn, because other requests may wait for their locks: on SQLite all
 * writes do.
 * @param session whose work pauses; undefined for work of the application
 */
export async function pause(session: PausableSession | undefined): Promise<void> {
  if (!mustPause()) return
  if (!isResuming) {
    isResuming = true
    // The first immediate may run before the event loop polls for events: work that follows the arrival of rows runs directly after
    // the events.
    setImmediate(() => setImmediate(startResuming))
  }
  const queue = session?.runner === undefined ? outsideTransactions : inTransactions
  await new Promise<void>((resume) => {
    queue.add({ client: turnName(session), resume })
  })
}

/** Lets paused work go on, in turns, for 10 milliseconds. */
function startResuming(): void {
  // Work of requests that have just arrived does not count: it could make paused work wait forever.
  noted = { iteration: loopCount(), start: performance.now() }
  resumeNext()
}

function resumeNext(): void {
  const otherQueue = lastQueue === inTransactions ? outsideTransactions : inTransactions
  if (otherQueue.size > 0) lastQueue = otherQueue
  lastQueue.startNext()?.resume()
  // A tick that a promise callback schedules runs after all promise callbacks. Then the work has paused again, waits for something else,
  // or is done.
  void Promise.resolve().then(() => nextTick(continueResuming))
}

function continueResuming(): void {
  if (inTransactions.size + outsideTransactions.size === 0) isResuming = false
  else if (mustPause()) setImmediate(startResuming)
  else resumeNext()
}

/**
 * Calls a function for each value. If this takes long, other requests may run in between.
 * @param session whose work it is; undefined for work of the application
 */
export async function mapWithPauses<From, To>(
  session: PausableSession | undefined,
  values: readonly From[],
  map: (value: From) => To,
): Promise<readonly To[]> {
  const mapped: To[] = []
  for (const value of values) {
    // Awaiting each of many short values would take a noticeable part of the time.
    if (mustPause()) await pause(session)
    mapped.push(map(value))
  }
  return mapped
}
