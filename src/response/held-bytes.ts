import { unavailable } from '../errors'

/**
 * Minimum length of a counted response body, in characters. Shorter ones fit into the buffer that Node.js has for each
 * socket.
 */
export const minCountedLength = 16 * 1024

/**
 * Time that a client has to receive a response, in milliseconds. After it, the connection is closed if another request
 * needs the memory.
 */
const receivingTime = 10_000

/** Memory of one response: the bytes read and rendered for it, until the client has received it. */
export interface ResponseMemory {
  /**
   * Counts at least this many bytes, unless they are fewer than {@link minCountedLength}.
   * @throws {ApiError} `unavailable` if the responses of the process would exceed the limit and this is not the only
   * one
   */
  readonly reserve: (bytes: number) => void
  /** Counts exactly this many bytes, even above the limit: the response to a completed write must be sent. */
  readonly count: (bytes: number) => void
  /** Counts nothing any more: the client has received what was counted. */
  readonly release: () => void
  /** Records that the response was handed to the connection of the client. */
  readonly noteSent: () => void
}

/** Connection that a response is sent on. */
export interface Connection {
  /** Calls `release` once, when the response was sent or can no longer be sent. */
  readonly whenClosed: (release: () => void) => void
  /** Closes the connection without sending the rest of the response. */
  readonly cutOff: () => void
}

/** Response that holds memory. */
interface Holder {
  bytes: number
  /** Time of `noteSent` by `performance.now()`; undefined before. */
  sentAt: number | undefined
  readonly cutOff: () => void
}

/** Responses of this process that hold memory, in the order in which they were counted first. */
const holders = new Set<Holder>()
let heldByAll = 0

/** @param limit maximum number of bytes for all responses of the process together; a single response may exceed it */
export function buildResponseMemory(limit: number, { whenClosed, cutOff }: Connection): ResponseMemory {
  const holder: Holder = { bytes: 0, sentAt: undefined, cutOff }
  // The events of a stream are counted and released many times: more than one registration would add listeners each time.
  let isWatched = false
  let isClosed = false
  const count = (bytes: number): void => {
    // A response that is counted after its client has disconnected would never be released.
    if (isClosed) return
    heldByAll += bytes - holder.bytes
    holder.bytes = bytes
    holders.add(holder)
    if (isWatched) return
    isWatched = true
    whenClosed(() => {
      isClosed = true
      release(holder)
    })
  }
  return {
    reserve: (bytes) => {
      const excess = (): number => heldByAll - holder.bytes + bytes - limit
      if (excess() > 0) cutOffSlow(excess)
      const isAlone = heldByAll === holder.bytes
      if (excess() > 0 && !isAlone) {
        throw unavailable(`the responses in memory have reached ${limit} bytes (limits.responseBytes); try again`)
      }
      if (bytes >= minCountedLength) count(Math.max(bytes, holder.bytes))
    },
    count,
    release: () => release(holder),
    noteSent: () => {
      holder.sentAt = performance.now()
    },
  }
}

function release(holder: Holder): void {
  if (!holders.delete(holder)) return
  heldByAll -= holder.bytes
  // The bytes of a response that is counted again must not be subtracted twice.
  holder.bytes = 0
}

/**
 * Closes the connections of clients that have had more than {@link receivingTime} to receive their responses, the
 * oldest first, until there is room.
 */
function cutOffSlow(excess: () => number): void {
  const deadline = performance.now() - receivingTime
  for (const holder of holders) {
    if (excess() <= 0) return
    if (holder.sentAt === undefined || holder.sentAt > deadline) continue
    release(holder)
    holder.cutOff()
  }
}
