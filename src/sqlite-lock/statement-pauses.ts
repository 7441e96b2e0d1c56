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

/** Pause of the client of a long statement. */
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
 * can connect although the client has opened many connections. With one iteration, 10 to 14 of 24 slow statements ran before the request
 * of a new connection; with eight, two or three.
 */
const pauseIterations = 8

/** The iteration of the event loop in which the last statement has run, and the time of all its statements. Global, as the event loop is. */
let last = { iteration: -1, time: 0 }
/** The pauses of clients, by client. Some may have ended. */
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
  forgetEndedPauses()
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
  forgetEndedPauses()
  const remaining = Math.min(...Array.from(clientPauses.values(), ({ end }) => end)) - performance.now()
  clearTimeout(timer)
  // A timer lasts at least a millisecond, for which a client would wait although there is no other one.
  if (clientPauses.size > 0 && remaining > 0) timer = setTimeout(callBack, remaining)
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

function isPaused(client: string): boolean {
  forgetEndedPauses()
  return clientPauses.has(client)
}

/** Otherwise the pauses of clients that send nothing else would be kept. */
function forgetEndedPauses(): void {
  for (const [client, { end, endIteration }] of clientPauses) {
    if (performance.now() >= end && loopCount() >= endIteration) clientPauses.delete(client)
  }
}
