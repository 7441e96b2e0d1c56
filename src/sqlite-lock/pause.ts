/**
 * Pauses after statements that have blocked the event loop for long, as those of better-sqlite3 do: for all clients, until the event
 * loop has polled for events of other requests, and for the client of the statement until others have had time for several steps.
 */
import { loopCount, maxBlockingMs } from '../timers'
import { type Sender, turnName } from './sender'

/** A statement that has blocked the event loop for long. */
interface LongStatement {
  readonly client: string
  /** The iteration of the event loop in which it ran. */
  readonly iteration: number
  /** End of the pause of its client (`performance.now()`). */
  readonly pauseEnd: number
}

/** Ratio of the pause of a client to the time of its statement. */
const pauseFactor = 0.1
const maxPauseMs = 100

/** Global, as the event loop is. */
let longStatement: LongStatement | undefined
/** Who has sent the last statement of this service. */
let lastSender: Sender | undefined

/** Notes who sends the statement of this service that runs next. */
export function noteSender(sender: Sender): void {
  lastSender = sender
}

/** Notes when a statement has run (`performance.now()`). */
export function noteStatement(start: number, end: number): void {
  const time = end - start
  if (time <= maxBlockingMs) return
  longStatement = {
    client: turnName(lastSender),
    iteration: loopCount(),
    pauseEnd: end + Math.min(time * pauseFactor, maxPauseMs),
  }
}

/** Whether statements of a client must wait because of a statement that has blocked the event loop. */
export function mustPause(sender: Sender | undefined): boolean {
  return longStatement !== undefined && mustPauseAs(turnName(sender))
}

/** As {@link mustPause}, by the name of the client. */
export function mustPauseAs(client: string): boolean {
  if (longStatement === undefined) return false
  const isPaused = performance.now() < longStatement.pauseEnd
  if (longStatement.iteration === loopCount()) return true
  if (!isPaused) longStatement = undefined
  return isPaused && client === longStatement?.client
}

/** Time until the end of the pause, in milliseconds: at least 1, so that the event loop polls for events meanwhile. */
export const pauseLeft = (): number => Math.max(1, (longStatement?.pauseEnd ?? 0) - performance.now())
