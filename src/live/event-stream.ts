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

/** Text that is held back until the account of the client was checked. */
interface HeldText {
  readonly bytes: Buffer
  /** Number of the last change of accounts before the text was sent. */
  readonly change: number
}

/**
 * The events of a live list for one client, as the body of a response (HTML Standard, Server-sent events). After a change of
 * the client's account, events are held back until the account was checked: they may be of records that the client may not
 * read any more.
 */
export class EventStream extends Readable {
  /** Resolves when the stream has ended; rejects if the client reads too slowly. */
  readonly done: Promise<void>
  readonly #maxBytes: number
  readonly #memory: ResponseMemory
  /** Size of the whole list, while it may wait for the client. */
  #wholeBytes = 0
  /** Number of the last change of accounts that may affect the client, and of the last one that a check has covered. */
  #lastChange = 0
  #checkedChange = 0
  #held: HeldText[] = []
  #heldBytes = 0
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

  /** Whether the account of the client must be checked before further events are sent. */
  get needsCheck(): boolean {
    return this.#lastChange > this.#checkedChange
  }

  /** Holds back what is sent from now on, until {@link noteCheck}. @param change number of a change of accounts */
  requireCheck(change: number): void {
    this.#lastChange = change
  }

  /**
   * Sends what was held back before a check of the account that has succeeded. What was held back during the check waits for
   * the next one if the account has changed again.
   * @param change number of the last change of accounts before the check began
   */
  noteCheck(change: number): void {
    if (this.destroyed) return
    this.#checkedChange = Math.max(this.#checkedChange, change)
    const count = this.#held.findIndex((text) => text.change > this.#checkedChange)
    for (const { bytes } of this.#held.splice(0, count < 0 ? this.#held.length : count)) {
      this.#heldBytes -= bytes.length
      this.push(bytes)
    }
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
    const waiting = this.#waitingBytes
    if (waiting === 0 || waiting + bytes.length <= this.#maxBytes + this.#wholeBytes) this.#pushOrHold(bytes)
    else this.#endForWaitingBytes()
  }

  /**
   * Sends the text of an event with a whole list, or of very many events. It does not count towards `maxBytes`.
   * @param share number of bytes that this stream counts, if several streams send the same bytes
   */
  sendWhole(bytes: Buffer, share: number): void {
    if (this.destroyed || this.#isFinished) return
    // The previous list is still waiting.
    if (this.#waitingBytes > this.#maxBytes) {
      this.#endForWaitingBytes()
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
      this.#pushOrHold(bytes.subarray(start, start + chunkBytes))
    }
  }

  /** Ends the stream. The client may connect again. */
  finish(): void {
    if (this.destroyed || this.#isFinished) return
    this.#isFinished = true
    this.#held = []
    this.#heldBytes = 0
    // A client that reads nothing would keep the connection open.
    if (this.readableLength > 0) this.destroy()
    else this.push(null)
  }

  /** Closes the connection because of an error. */
  fail(error: unknown): void {
    this.#fail(error)
    this.destroy()
  }

  /** Number of bytes that wait for the client, or for a check of its account. */
  get #waitingBytes(): number {
    return this.readableLength + this.#heldBytes
  }

  #pushOrHold(bytes: Buffer): void {
    if (this.needsCheck) {
      this.#held.push({ bytes, change: this.#lastChange })
      this.#heldBytes += bytes.length
    } else this.push(bytes)
  }

  /** Ends the stream because too many bytes wait. */
  #endForWaitingBytes(): void {
    // The client may not be slow. It connects again, and receives what was held back if its credentials are still sufficient.
    if (this.#heldBytes > 0) this.finish()
    else this.#failForSlowClient()
  }

  #failForSlowClient(): void {
    this.fail(unavailable(`the client has not received ${this.#maxBytes} bytes of events (limits.liveBytes)`))
  }

  #releaseWhenReceived(): void {
    const timer = setInterval(() => {
      if (this.#waitingBytes > 0 && !this.destroyed) return
      clearInterval(timer)
      this.#wholeBytes = 0
      this.#memory.release()
    }, checkMs).unref()
  }
}
