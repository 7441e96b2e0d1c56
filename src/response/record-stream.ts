import { Readable } from 'node:stream'
import { unavailable } from '../errors'
import { within } from '../timers'

/** Number of bytes that wait for the client, after which no more records are read. */
const bufferBytes = 64 * 1024

/** Time that a streamed list and its client may take, in milliseconds. */
interface StreamLimits {
  readonly streamTime: number
  readonly streamStall: number
}

/** Body of a streamed list. */
export class RecordStream extends Readable {
  readonly #deadline: number
  readonly #stall: number
  #wake = (): void => undefined

  constructor({ streamTime, streamStall }: StreamLimits) {
    super({ highWaterMark: bufferBytes })
    this.#deadline = performance.now() + streamTime
    this.#stall = streamStall
  }

  /**
   * Sends a text, and waits until the client has received most of it.
   * @throws {ApiError} `unavailable` if the client has disconnected, or is too slow
   */
  async send(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    if (this.destroyed) throw unavailable('the client has closed its connection')
    const drained = new Promise<boolean>((resolve) => {
      this.#wake = () => resolve(true)
    })
    if (this.push(bytes)) return
    const remaining = this.#deadline - performance.now()
    const limit = Math.min(remaining, this.#stall * Math.ceil(bytes.length / bufferBytes))
    const isDrained = await within(Math.max(limit, 0), drained, false)
    if (this.destroyed) throw unavailable('the client has closed its connection')
    if (!isDrained) throw unavailable('the client has not received the streamed list in time')
  }

  override _read(): void {
    this.#wake()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#wake()
    done(error)
  }
}
