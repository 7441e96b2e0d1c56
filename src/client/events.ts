import { ResourceError } from './error.ts'
import { type Send, sleep } from './send.ts'
import { readLines, requireType } from './stream.ts'

/** An event of a live list or a live record (specification: Live lists). */
export type LiveEvent =
  | { readonly name: 'reset'; readonly data: readonly LiveRecord[] }
  | { readonly name: 'created' | 'updated' | 'gone'; readonly data: LiveRecord }

/** A record. The event `gone` has only its id. */
export interface LiveRecord {
  readonly id: string | number
  readonly [field: string]: unknown
}

const eventType = 'text/event-stream'
/** Pause before a failed request is repeated, in milliseconds: at first, and at most. */
const firstPauseMs = 1000
const maxPauseMs = 30_000
/** Time without a byte after which a connection counts as broken, in milliseconds. The service sends one every 20 seconds. */
const maxSilenceMs = 60_000

/**
 * Receives the events of a live list or a live record until the signal is aborted. When a connection ends, it opens another
 * one, which continues after the last event.
 * @param receive gets the events that arrive together; it must not throw
 * @throws {ResourceError} if the service refuses a request
 * @throws the signal's reason, and errors of `fetch` before the first connection is open
 */
export async function followEvents(
  send: Send,
  url: string,
  signal: AbortSignal,
  receive: (events: readonly LiveEvent[]) => void,
  silenceMs = maxSilenceMs,
): Promise<never> {
  const position = { lastEventId: '', retryMs: firstPauseMs }
  let wasOpen = false
  const readConnection = async (): Promise<void> => {
    const silence = new AbortController()
    const abort = (): void => silence.abort(new TypeError(`${url} has sent nothing for ${silenceMs} ms`))
    let timer = setTimeout(abort, silenceMs)
    try {
      const response = await send('GET', url, undefined, {
        accept: eventType,
        lastEventId: position.lastEventId,
        signal: AbortSignal.any([signal, silence.signal]),
      })
      await requireType(response, eventType, 'is not a stream of events; the service needs the option "live"')
      wasOpen = true
      const fields = new Map<string, string>()
      try {
        for await (const lines of readLines(response)) {
          clearTimeout(timer)
          timer = setTimeout(abort, silenceMs)
          const events = parseEvents(lines, fields, position)
          if (events.length > 0) receive(events)
        }
      } catch (error) {
        // An event that cannot be parsed would arrive again. Otherwise the connection is broken, or the signal is aborted.
        if (error instanceof SyntaxError) throw error
      }
    } finally {
      clearTimeout(timer)
    }
  }
  for (;;) {
    await retryWhileUnavailable(readConnection, signal, () => wasOpen)
    await sleep(position.retryMs, signal)
  }
}

/**
 * Parses lines of server-sent events (HTML Standard) whose data is JSON in one line.
 * @param fields of an event that is not complete
 * @param position receives the last id, and the pause before the next connection
 */
function parseEvents(
  lines: readonly string[],
  fields: Map<string, string>,
  position: { lastEventId: string; retryMs: number },
): readonly LiveEvent[] {
  const events: LiveEvent[] = []
  for (const line of lines) {
    const [, field, value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? []
    if (field !== undefined) fields.set(field, value)
    if (line !== '') continue
    const { id = position.lastEventId, event: name, data = '', retry = position.retryMs } = Object.fromEntries(fields)
    fields.clear()
    if (name !== undefined) events.push({ name, data: JSON.parse(data) } as LiveEvent)
    Object.assign(position, { lastEventId: id, retryMs: Number(retry) })
  }
  return events
}

/**
 * Repeats a request with increasing pauses while the service is not available.
 * @param mayRepeat false if every error must be thrown, as before the first connection. Default: true
 */
export async function retryWhileUnavailable(
  request: () => Promise<void>,
  signal: AbortSignal,
  mayRepeat: () => boolean = () => true,
): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    try {
      return await request()
    } catch (error) {
      signal.throwIfAborted()
      if (!mayRepeat() || !isTemporary(error)) throw error
    }
    // The pause is random, so that clients that were disconnected together do not connect again at the same time.
    await sleep(pauseMs * (0.5 + Math.random() / 2), signal)
  }
}

/** Whether a request may succeed later: `fetch` throws a `TypeError` for a network error. */
function isTemporary(error: unknown): boolean {
  if (error instanceof ResourceError) return [429, 502, 503, 504].includes(error.status)
  return (error as Error | undefined)?.name === 'TypeError'
}
