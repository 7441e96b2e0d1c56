import { unavailable } from '../errors'

/**
 * Minimum size of a counted body, in bytes. A shorter one fits into the buffer that Node.js has for each socket; the stream of an HTTP/2
 * request is counted as at least this size.
 */
export const minCountedLength = 16 * 1024

/**
 * Time that a client has to send a body, or to receive a response, in milliseconds. After it, the connection is closed if
 * another request needs the memory.
 */
const clientTime = 10_000

/** Memory of one response: the bytes received, read and rendered for it, until the client has received it. */
export interface ResponseMemory {
  /**
   * Reserves the memory of the URL and the headers of the request, also less than {@link minCountedLength}. It is counted in
   * addition to what the other functions count.
   * @throws {ApiError} `unavailable`
   */
  readonly reserveHead: (bytes: number) => void
  /**
   * Reserves the bytes of a body that have arrived so far. The response waits for its client until `reserve` is called.
   * @throws {ApiError} `unavailable`
   */
  readonly receive: (bytes: number) => void
  /**
   * Counts at least this many bytes. Fewer than {@link minCountedLength} are not counted, and never refused.
   * @throws {ApiError} `unavailable` if the responses of the process would exceed the limit and this is not the only
   * one
   */
  readonly reserve: (bytes: number) => void
  /** Counts exactly this many bytes, even above the limit: the response to a completed write must be sent. */
  readonly count: (bytes: number) => void
  /** Counts only what `reserveHead` has reserved: the client has received the rest. */
  readonly release: () => void
  /**
   * Records whether the response waits for its client: while the body of the request arrives, while an earlier response of the
   * connection is sent, and after it was sent itself.
   */
  readonly noteWaiting: (isWaiting: boolean) => void
}

/** Connection that a response is sent on. */
export interface Connection {
  /** Network of the client (`networkOf`). An empty text if it is not known, or if the response is for several clients. */
  readonly client: string
  /** Calls `release` once, when the response was sent or can no longer be sent. */
  readonly whenClosed: (release: () => void) => void
  /** Closes the connection without sending the rest of the response. */
  readonly cutOff: () => void
}

/** Response that holds memory. */
interface Holder {
  bytes: number
  /** Time since when it waits for its client, by `performance.now()`; undefined if it does not. */
  waitsSince: number | undefined
  readonly client: string
  readonly cutOff: () => void
}

/** Responses of this process that hold memory, in the order in which they were counted first. */
const holders = new Set<Holder>()
let heldByAll = 0
/** Bytes of the holders of each client. */
const heldByClient = new Map<string, number>()
/** Time before which no holder has waited for {@link clientTime}, by `performance.now()`. */
let noneIsSlowUntil = 0

/** @param limit maximum number of bytes for all responses of the process together; a single response may exceed it */
export function buildResponseMemory(limit: number, { client, whenClosed, cutOff }: Connection): ResponseMemory {
  const holder: Holder = { bytes: 0, waitsSince: undefined, client, cutOff }
  // The events of a stream are counted and released many times: more than one registration would add listeners each time.
  let isWatched = false
  let isClosed = false
  let headBytes = 0
  const count = (bytes: number): void => {
    // A response that is counted after its client has disconnected would never be released.
    if (isClosed) return
    setBytes(holder, headBytes + bytes)
    holders.add(holder)
    if (isWatched) return
    isWatched = true
    whenClosed(() => {
      isClosed = true
      release(holder)
    })
  }
  const requireMemory = (bytes: number): void => {
    const excess = (): number => heldByAll - holder.bytes + headBytes + bytes - limit
    if (excess() > 0) cutOffSlow(excess)
    if (excess() > 0) cutOffLargeClient(excess, client, limit / 2)
    const isAlone = heldByAll === holder.bytes
    if (excess() > 0 && !isAlone) {
      throw unavailable(
        `the requests and responses in memory have reached ${limit} bytes (limits.responseBytes); try again`,
      )
    }
  }
  const reserve = (bytes: number): void => {
    const isCounted = bytes >= minCountedLength
    if (isCounted) requireMemory(bytes)
    holder.waitsSince = undefined
    if (isCounted) count(Math.max(bytes, holder.bytes - headBytes))
  }
  const noteWaiting = (isWaiting: boolean): void => {
    if (isWaiting) waitSince(holder, performance.now())
    else holder.waitsSince = undefined
  }
  return {
    reserveHead: (bytes) => {
      requireMemory(bytes)
      headBytes = bytes
      count(0)
    },
    receive: (bytes) => {
      const { waitsSince = performance.now() } = holder
      reserve(bytes)
      waitSince(holder, waitsSince)
    },
    reserve,
    count,
    release: () => {
      release(holder)
      noteWaiting(false)
      if (headBytes > 0) count(0)
    },
    noteWaiting,
  }
}

function release(holder: Holder): void {
  // The bytes of a response that is counted again must not be subtracted twice.
  if (holders.delete(holder)) setBytes(holder, 0)
}

function setBytes(holder: Holder, bytes: number): void {
  const { client } = holder
  const more = bytes - holder.bytes
  holder.bytes = bytes
  heldByAll += more
  const ofClient = (heldByClient.get(client) ?? 0) + more
  if (ofClient > 0) heldByClient.set(client, ofClient)
  else heldByClient.delete(client)
}

function waitSince(holder: Holder, time: number): void {
  holder.waitsSince = time
  noneIsSlowUntil = Math.min(noneIsSlowUntil, time + clientTime)
}

/**
 * Closes the connections of clients that have had more than {@link clientTime} to send their bodies or to receive their
 * responses, the oldest first, until there is room. Thousands of requests that are refused do not look for such clients each time.
 */
function cutOffSlow(excess: () => number): void {
  const now = performance.now()
  if (now < noneIsSlowUntil) return
  let oldest = now
  cutOffWaiting(({ waitsSince = now }) => {
    if (excess() > 0 && waitsSince <= now - clientTime) return true
    oldest = Math.min(oldest, waitsSince)
    return false
  })
  noneIsSlowUntil = oldest + clientTime
}

/**
 * Closes connections of another client that holds more than a share of the memory: those that send bodies or receive
 * responses, the oldest first, until there is room or the client holds no more than its share.
 * @param share in bytes
 */
function cutOffLargeClient(excess: () => number, client: string, share: number): void {
  const isLarge = (name: string): boolean => name !== client && (heldByClient.get(name) ?? 0) > share
  if (![...heldByClient.keys()].some(isLarge)) return
  cutOffWaiting((holder) => excess() > 0 && isLarge(holder.client))
}

/** Closes the connections of the chosen responses that wait for their clients, in the order in which they were counted first. */
function cutOffWaiting(isChosen: (holder: Holder) => boolean): void {
  for (const holder of holders) {
    if (holder.waitsSince === undefined || !isChosen(holder)) continue
    release(holder)
    holder.cutOff()
  }
}
