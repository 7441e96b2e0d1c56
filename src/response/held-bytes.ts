import { unavailable } from '../errors'

/** Characters of a body from which on its response is counted. Less fits into the buffer that Node.js keeps for every socket. */
export const countedLength = 16 * 1024

/** Milliseconds that a client has to take a response that others need the memory of. */
const takingTime = 10_000

/** The memory of one response: what is read for it, rendered, or not yet taken by its client. */
export interface HeldBytes {
  /** Counts at least so many bytes, if they are not few. @throws {ApiError} `unavailable`, when the process holds too many */
  readonly reserve: (bytes: number) => void
  /** Counts exactly so many bytes, for a response that must be sent: to a write that is done. */
  readonly count: (bytes: number) => void
  /** Notes that the response is handed to the client's connection. */
  readonly noteSent: () => void
}

/** What responses are sent by. */
export interface Connection {
  /** Calls back once, when the response is sent or cannot be sent any more. */
  readonly whenClosed: (release: () => void) => void
  readonly cutOff: () => void
}

interface Holder {
  bytes: number
  /** By `performance.now()`; undefined until then. */
  sentAt: number | undefined
  readonly cutOff: () => void
}

/** Responses of this process that hold memory, by the time that they began to. */
const holders = new Set<Holder>()
let heldByAll = 0

/** @param limit bytes that all responses of the process may hold together; a single one may hold more */
export function buildHeldBytes(limit: number, { whenClosed, cutOff }: Connection): HeldBytes {
  const holder: Holder = { bytes: 0, sentAt: undefined, cutOff }
  const count = (bytes: number): void => {
    heldByAll += bytes - holder.bytes
    holder.bytes = bytes
    if (holders.has(holder)) return
    holders.add(holder)
    whenClosed(() => release(holder))
  }
  return {
    reserve: (bytes) => {
      const excess = (): number => heldByAll - holder.bytes + bytes - limit
      if (excess() > 0) cutOffSlow(excess)
      const isAlone = heldByAll === holder.bytes
      if (excess() > 0 && !isAlone) {
        throw unavailable(`the responses in memory have reached ${limit} bytes (limits.responseBytes); try again`)
      }
      if (bytes >= countedLength) count(Math.max(bytes, holder.bytes))
    },
    count,
    noteSent: () => {
      holder.sentAt = performance.now()
    },
  }
}

function release(holder: Holder): void {
  if (!holders.delete(holder)) return
  heldByAll -= holder.bytes
  // A response that is counted after its client has gone is released at once, and must not be subtracted twice.
  holder.bytes = 0
}

/** Ends responses that their clients have not taken for long, the oldest first, until there is room. */
function cutOffSlow(excess: () => number): void {
  const latest = performance.now() - takingTime
  for (const holder of holders) {
    if (excess() <= 0) return
    if (holder.sentAt === undefined || holder.sentAt > latest) continue
    release(holder)
    holder.cutOff()
  }
}
