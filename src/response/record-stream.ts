import { Readable } from 'node:stream'
import { type ApiError, clientDisconnected, unavailable } from '../errors'
import { within } from '../timers'

/** Number of bytes that wait for the client, after which no more records are read. */
const bufferBytes = 64 * 1024

/** Number of bytes per second that a client receives unless it is slow. */
export const slowRate = 256 * 1024

/** Time that a streamed list and its client may take, in milliseconds. */
interface StreamLimits {
  readonly streamTime: number
  readonly streamStall: number
}

/** Body of a streamed list. */
export class RecordStream extends Readable {
  /** Resolves when the body has its first bytes, or is complete. */
  readonly started: Promise<void>
  readonly #head: string
  readonly #limits: StreamLimits
  readonly #deadline: number
  #isStarted = false
  /** Time by which the client is behind one that receives {@link slowRate}, before the present wait, in milliseconds. */
  #lag = 0
  /** Time at which the present wait for the client began; undefined if there is none. */
  #waitStart: number | undefined
  #abortError: ApiError | undefined
  #start = (): void => undefined
  #notify = (): void => undefined

  /** @param head text before the first record */
  constructor(head: string, limits: StreamLimits) {
    super({ highWaterMark: bufferBytes })
    this.#head = head
    this.#limits = limits
    this.#deadline = performance.now() + limits.streamTime
    this.started = new Promise((resolve) => {
      this.#start = resolve
    })
  }

  /**
   * Whether the client is more than a third of `streamStall` behind one that receives {@link slowRate}. Only the time counts in
   * which the service waits for the client.
   */
  get isSlow(): boolean {
    const waiting = this.#waitStart === undefined ? 0 : performance.now() - this.#waitStart
    return this.#lag + waiting > this.#limits.streamStall / 3
  }

  /** Whether a part of the body may have been sent. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  /**
   * Sends the text of some records, and waits until the client has received most of it.
   * @throws {ApiError} `unavailable` if the client has disconnected, or is too slow
   */
  async send(text: string): Promise<void> {
    const bytes = Buffer.from(this.#isStarted ? text : this.#head + text)
    this.#begin()
    for (let start = 0; start < bytes.length; start += bufferBytes) {
      await this.#push(bytes.subarray(start, start + bufferBytes))
    }
  }

  /**
   * Ends the body, and waits until the client has received most of it.
   * @throws {ApiError} `unavailable` if the client has disconnected, or is too slow
   */
  async finish(): Promise<void> {
    if (!this.#isStarted) await this.send('')
    await this.#push(null)
  }

  /** Ends the list with an error, although it is not complete. */
  abort(error: ApiError): void {
    this.#abortError = error
    this.#notify()
  }

  #begin(): void {
    this.#isStarted = true
    this.#start()
  }

  async #push(bytes: Buffer | null): Promise<void> {
    this.#requireOpen()
    const { streamTime, streamStall } = this.#limits
    const remaining = this.#deadline - performance.now()
    if (remaining <= 0) throw tooLong(streamTime)
    const received = new Promise<boolean>((resolve) => {
      this.#notify = () => resolve(true)
    })
    this.#waitStart = performance.now()
    const isReceived = this.push(bytes) || (await within(Math.min(remaining, streamStall), received, false))
    const waited = performance.now() - this.#waitStart
    this.#waitStart = undefined
    this.#lag = Math.max(0, this.#lag + waited - ((bytes?.length ?? 0) / slowRate) * 1000)
    this.#requireOpen()
    if (isReceived) return
    if (remaining <= streamStall) throw tooLong(streamTime)
    throw unavailable(`the client has not received ${bufferBytes} bytes within ${streamStall} ms (limits.streamStall)`)
  }

  /** @throws {ApiError} if the client has disconnected, or the list was aborted */
  #requireOpen(): void {
    if (this.destroyed && !this.readableEnded) throw clientDisconnected()
    if (this.#abortError !== undefined) throw this.#abortError
  }

  override _read(): void {
    this.#notify()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#notify()
    done(error)
  }
}

/** Creates the error for a list whose records were not all sent in time. */
function tooLong(streamTime: number): ApiError {
  return unavailable(`the list was not sent within ${streamTime} ms (limits.streamTime)`)
}
