import { Readable } from 'node:stream'
import { unavailable } from '../errors'
import type { ResponseMemory } from '../response/held-bytes'

/**
 * Size of the chunks of a whole list, in bytes. `readableLength` does not count the chunk that the socket is sending, so it
 * would not count a whole list in a single chunk.
 */
const chunkBytes = 64 * 1024
/** Interval between checks whether a client has received a whole list, in milliseconds. */
const checkMs = 100

/** The events of a live list for one client, as the body of a response (HTML Standard, Server-sent events). */
export class EventStream extends Readable {
  /** Resolves when the stream has ended; rejects if the client reads too slowly. */
  readonly done: Promise<void>
  readonly #maxBytes: number
  readonly #memory: ResponseMemory
  /** Size of the whole list, while it may wait for the client. */
  #wholeBytes = 0
  #isFinished = false
  #finish = (): void => undefined
  #fail = (_error: unknown): void => undefined

  /**
   * @param maxBytes maximum size of the events that wait for the client, in bytes
   * @param memory counts a whole list that waits for the client
   */
  constructor(maxBytes: number, memory: ResponseMemory) {
    super({ read: () => undefined })
    this.#maxBytes = maxBytes
    this.#memory = memory
    this.done = new Promise((resolve, reject) => {
      this.#finish = resolve
      this.#fail = reject
    })
    this.once('close', () => this.#finish())
  }

  /**
   * Sends the text of events. Disconnects the client if more than `maxBytes` wait.
   * @param share number of bytes that this stream counts, if several streams send the same bytes. Default: all
   */
  send(bytes: Buffer, share = bytes.length): void {
    if (this.destroyed || this.#isFinished) return
    if (bytes.length > this.#maxBytes) {
      this.sendWhole(bytes, share)
      return
    }
    const waiting = this.readableLength
    if (waiting === 0 || waiting + bytes.length <= this.#maxBytes + this.#wholeBytes) this.push(bytes)
    else this.#failForSlowClient()
  }

  /**
   * Sends the text of an event with a whole list, or of very many events. It does not count towards `maxBytes`.
   * @param share number of bytes that this stream counts, if several streams send the same bytes
   */
  sendWhole(bytes: Buffer, share: number): void {
    if (this.destroyed || this.#isFinished) return
    // The previous list is still waiting.
    if (this.readableLength > this.#maxBytes) {
      this.#failForSlowClient()
      return
    }
    try {
      this.#memory.reserve(share)
    } catch (error) {
      this.fail(error)
      return
    }
    if (this.#wholeBytes === 0) this.#releaseWhenReceived()
    this.#wholeBytes += bytes.length
    this.#memory.noteWaiting(true)
    for (let start = 0; start < bytes.length; start += chunkBytes) {
      this.push(bytes.subarray(start, start + chunkBytes))
    }
  }

  /** Ends the stream. The client may connect again. */
  finish(): void {
    if (this.destroyed || this.#isFinished) return
    this.#isFinished = true
    // A client that reads nothing would keep the connection open.
    if (this.readableLength > 0) this.destroy()
    else this.push(null)
  }

  /** Closes the connection because of an error. */
  fail(error: unknown): void {
    this.#fail(error)
    this.destroy()
  }

  #failForSlowClient(): void {
    this.fail(unavailable(`the client has not received ${this.#maxBytes} bytes of events (limits.liveBytes)`))
  }

  #releaseWhenReceived(): void {
    const timer = setInterval(() => {
      if (this.readableLength > 0 && !this.destroyed) return
      clearInterval(timer)
      this.#wholeBytes = 0
      this.#memory.release()
    }, checkMs).unref()
  }
}
