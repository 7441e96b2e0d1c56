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
  // This immediate is earlier than those in which the work of this statement goes on, such as the next operation of a batch.
  setImmediate(endPauseAfterPoll)
}

function endPauseAfterPoll(): void {
  if (hasPolled()) endPause()
  else setImmediate(endPauseAfterPoll)
}

/** Whether the event loop has polled for events since the last long statement. */
const hasPolled = (): boolean => longStatement?.iteration !== loopCount()

/** Callbacks of queues whose tasks wait. */
const callbacks = new Set<() => void>()
let timer: NodeJS.Timeout | undefined

/** Calls a function once when a pause may have ended: for all clients, or for one. */
export function afterPause(callback: () => void): void {
  callbacks.add(callback)
  timer ??= setTimeout(endPause, Math.max(0, (longStatement?.pauseEnd ?? 0) - performance.now()))
}

function endPause(): void {
  clearTimeout(timer)
  timer = undefined
  const ended = [...callbacks]
  callbacks.clear()
  for (const callback of ended) callback()
}

/** Whether statements of a client must wait because of a statement that has blocked the event loop. */
export function mustPause(sender: Sender | undefined): boolean {
  return longStatement !== undefined && mustPauseAs(turnName(sender))
}

/** As {@link mustPause}, by the name of the client. */
export function mustPauseAs(client: string): boolean {
  if (longStatement === undefined) return false
  if (!hasPolled()) return true
  if (performance.now() < longStatement.pauseEnd) return client === longStatement.client
  longStatement = undefined
  return false
}
