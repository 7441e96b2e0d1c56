/**
 * Pauses after statements that have blocked the event loop for long, as those of better-sqlite3 do: for all clients, until the event
 * loop has polled for events of other requests, and after a single long statement also for its client, until others have had time for
 * several steps.
 */
// Not the global ones: fake timers replace them, as in `connection/pauses.ts`.
import { performance } from 'node:perf_hooks'
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from 'node:timers'
import { noteWork } from '../connection/pauses'
import { turnName } from '../connection/turn-queue'
import { loopCount, maxBlockingMs } from '../timers'
import type { Sender } from './sender'

/** Pause of a client after its long statement. It ends when both the time and the iteration have been reached. */
interface ClientPause {
  /** `performance.now()` */
  readonly end: number
  /** Iteration of the event loop. */
  readonly endIteration: number
}

/** Ratio of the pause of a client to the time of its statement. */
const pauseFactor = 0.1
const maxPauseMs = 100
/**
 * Minimum length of the pause of a client, in iterations of the event loop. Node.js accepts one connection in each of them, so that others
 * can connect although the client has opened many connections. With one iteration, 10 to 14 of 24 slow statements of one client ran before
 * the request of a new connection; with eight, two or three. Of three clients, nine ran, and all without a pause for each client.
 */
const pauseIterations = 8

/** The iteration of the event loop in which the last statement has run, and the time of all its statements. Global, as the event loop is. */
let last = { iteration: -1, time: 0 }
/**
 * Pauses by the name of the client (`turnName`). There are about ten at most, because each begins after a statement of more than 10 ms, and
 * ends after 100 ms or eight iterations.
 */
const clientPauses = new Map<string, ClientPause>()
/** Who has sent the last statement; undefined for the application. */
let lastSender: Sender | undefined

/** Notes who sends the statement that runs next; undefined for the application. */
export function noteSender(sender: Sender | undefined): void {
  lastSender = sender
}

/** Notes when a statement has run (`performance.now()`). */
export function noteStatement(start: number, end: number): void {
  noteWork(start)
  const time = end - start
  const iteration = loopCount()
  const before = last.iteration === iteration ? last.time : 0
  last = { iteration, time: before + time }
  // This immediate is earlier than those in which the work of this statement goes on, such as the next operation of a batch.
  if (before <= maxBlockingMs && last.time > maxBlockingMs) setImmediate(callBackAfterPoll)
  if (time <= maxBlockingMs || lastSender === undefined) return
  const client = turnName(lastSender)
  removeEndedPauses()
  // The statements of a transaction do not wait for the pause. If each of them made it longer, other requests of the client would wait
  // for the end of the transaction.
  if (clientPauses.has(client)) return
  clientPauses.set(client, {
    end: end + Math.min(time * pauseFactor, maxPauseMs),
    endIteration: iteration + pauseIterations,
  })
}

function callBackAfterPoll(): void {
  if (mustPoll()) setImmediate(callBackAfterPoll)
  else callBack()
}

/** Whether statements have blocked the event loop for long, and it has not polled for events since. */
const mustPoll = (): boolean => last.time > maxBlockingMs && last.iteration === loopCount()

/** Callbacks of queues whose tasks wait. */
const callbacks = new Set<() => void>()
let timer: NodeJS.Timeout | undefined
let immediate: NodeJS.Immediate | undefined

/** Calls a function once when a pause may have ended: for all clients, or for one. */
export function afterPause(callback: () => void): void {
  callbacks.add(callback)
  removeEndedPauses()
  const ends = Array.from(clientPauses.values(), ({ end }) => end)
  const remaining = ends.length === 0 ? 0 : Math.min(...ends) - performance.now()
  // Set again each time: another pause may end earlier.
  clearTimeout(timer)
  // A timer lasts at least a millisecond, for which a client would wait although there is no other one.
  if (remaining > 0) timer = setTimeout(callBack, remaining)
  else immediate ??= setImmediate(callBack)
}

function callBack(): void {
  clearTimeout(timer)
  clearImmediate(immediate)
  timer = undefined
  immediate = undefined
  const ended = [...callbacks]
  callbacks.clear()
  for (const callback of ended) callback()
}

/** Whether statements of a client must wait because of statements that have blocked the event loop. */
export function mustWait(sender: Sender | undefined): boolean {
  return mustPoll() || (clientPauses.size > 0 && isPaused(turnName(sender)))
}

/** As {@link mustWait}, by the name of the client. */
export function mustClientWait(client: string): boolean {
  return mustPoll() || isPaused(client)
}

/** Whether the pause of a client has not ended yet. */
function isPaused(client: string): boolean {
  removeEndedPauses()
  return clientPauses.has(client)
}

/** Removes the pauses that have ended, also those of clients that send no more requests. */
function removeEndedPauses(): void {
  for (const [client, { end, endIteration }] of clientPauses) {
    if (performance.now() >= end && loopCount() >= endIteration) clientPauses.delete(client)
  }
}
