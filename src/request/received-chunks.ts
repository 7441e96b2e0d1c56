import type { Readable } from 'node:stream'
import { ApiError } from '../errors'
import { maxTimerMs } from '../timers'

/** Number and size of the chunks that are joined. A `Buffer` takes a hundred bytes of memory or more besides its content. */
const maxSmallChunks = 256
const maxSmallBytes = 16 * 1024

/**
 * Number of chunks of a body that are received without a pause. Node.js reads 2 MiB from a connection at once, in which there
 * may be 300,000 chunks.
 */
const maxChunksAtOnce = 16_384

/**
 * Collects the chunks of a body, and joins small ones: Node.js returns each chunk of a chunked body as a `Buffer`, so that a body
 * of 1 MiB in chunks of one byte would take 200 MiB.
 */
export class ReceivedChunks {
  readonly #chunks: Buffer[] = []
  #small: Buffer[] = []
  #smallBytes = 0
  #size = 0

  /** Size of all chunks, in bytes. */
  get size(): number {
    return this.#size
  }

  /** @param received a text if middleware of the application has called `setEncoding('utf8')` */
  add(received: Buffer | string): void {
    const chunk = typeof received === 'string' ? Buffer.from(received) : received
    this.#size += chunk.length
    this.#smallBytes += chunk.length
    const count = this.#small.push(chunk)
    if (count >= maxSmallChunks || this.#smallBytes >= maxSmallBytes) this.#join()
  }

  /** Removes all chunks. @returns their bytes */
  take(): Buffer {
    this.#join()
    const [only] = this.#chunks
    const bytes = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#size)
    this.#chunks.splice(0)
    this.#size = 0
    return bytes
  }

  #join(): void {
    const [only] = this.#small
    if (only !== undefined) this.#chunks.push(this.#small.length === 1 ? only : Buffer.concat(this.#small))
    this.#small = []
    this.#smallBytes = 0
  }
}

/**
 * Receives a body.
 * @param limit maximum size, in bytes
 * @param declared size in the header `Content-Length`; undefined if there is none
 * @param onReceived called with the size so far, for each chunk; an error that it throws refuses the body
 * @throws {ApiError} `body-too-large`, `bad-body`
 */
export async function receiveBytes(
  body: Readable,
  limit: number,
  declared: number | undefined,
  onReceived?: (size: number) => void,
): Promise<Buffer> {
  const chunks = new ReceivedChunks()
  try {
    const isDeclaredTooLarge = declared !== undefined && declared > limit
    if (isDeclaredTooLarge || !(await receiveChunks(body, chunks, limit + 1, { onReceived }))) {
      throw new ApiError('body-too-large', `a body may have at most ${limit} bytes`)
    }
  } catch (error) {
    // Discards the rest of the body, so that the connection can be used for further requests.
    body.resume()
    throw error
  }
  // Middleware may have read a part of the body, or `setEncoding` may have replaced bytes that are not UTF-8.
  if (declared !== undefined && declared !== chunks.size) throw incomplete()
  return chunks.take()
}

interface ReceivingOptions {
  /** Time limit for all of the bytes, in milliseconds, and the error after it. Default: no limit. */
  readonly stall?: { readonly limit: number; readonly error: () => ApiError }
  /** Called with the size of all chunks, for each chunk. An error that it throws refuses the body. */
  readonly onReceived?: ((size: number) => void) | undefined
}

/**
 * Receives chunks of a body until they have a number of bytes, and then pauses the body.
 * @returns whether the body is complete
 * @throws {ApiError} `bad-body`, and the errors of `onReceived`
 */
export function receiveChunks(
  body: Readable,
  chunks: ReceivedChunks,
  bytes: number,
  { stall, onReceived }: ReceivingOptions,
): Promise<boolean> {
  // Listeners, because iterating over the chunks takes 2 µs more for a small body, and most of a second for 100,000 chunks.
  return new Promise((resolve, reject) => {
    let count = 0
    const onStall = (): void => finish(() => reject(stall?.error()))
    const timer = stall && setTimeout(onStall, Math.min(stall.limit, maxTimerMs))
    const finish = (settle: () => void): void => {
      clearTimeout(timer)
      body.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
      settle()
    }
    const onData = (chunk: Buffer | string): void => {
      chunks.add(chunk)
      try {
        onReceived?.(chunks.size)
      } catch (error) {
        finish(() => reject(error))
        return
      }
      if (chunks.size >= bytes) {
        body.pause()
        finish(() => resolve(false))
      } else if (++count % maxChunksAtOnce === 0) pause(body)
    }
    const onEnd = (): void => finish(() => resolve(true))
    const onClose = (): void => finish(() => reject(incomplete()))
    body.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose)
    // A paused body can end, and is then destroyed: Node.js emits `end` after the last chunk, also if its listener has paused the
    // body.
    if (body.readableEnded) onEnd()
    else if (body.destroyed) onClose()
    else body.resume()
  })
}

/** Lets other requests run before further chunks arrive. */
function pause(body: Readable): void {
  body.pause()
  setImmediate(() => body.resume())
}

/** The refusal of a body whose client has disconnected. */
function incomplete(): ApiError {
  return new ApiError('bad-body', 'the body ended before it was complete')
}
