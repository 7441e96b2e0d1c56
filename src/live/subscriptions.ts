import type { ResponseMemory } from '../response/held-bytes'
import { within } from '../timers'
import { CheckQueue } from './check-queue'
import type { EventStream } from './event-stream'
import type { LiveList } from './live-list'

/** A client that subscribes to a live list. */
export interface Subscriber {
  /** Identifies the user, or the network address of an anonymous client. */
  readonly client: string
  /** Key of the user as a text; undefined for an anonymous client. */
  readonly userId: string | undefined
  /** Counts the bytes that wait for the client. */
  readonly memory: ResponseMemory
  /** The header `Last-Event-ID`. */
  readonly lastId: string | undefined
  /** Resolves when the client has disconnected. */
  readonly disconnected: Promise<void>
  /**
   * Checks the credentials again. Returns the key of the list that the client may subscribe to now.
   * @throws {ApiError} if the client may not read it any more
   */
  readonly check: () => Promise<string>
}

/** An open subscription. */
interface Subscription extends Subscriber {
  readonly list: LiveList
  readonly stream: EventStream
}

/** Intervals in milliseconds: see `RequestLimits`. */
export interface SubscriptionIntervals {
  readonly liveHeartbeat: number
  readonly liveCheck: number
}

/** Minimum time limit of a check, in milliseconds. It is `limits.liveCheck` if this is longer. */
const minCheckTimeoutMs = 10_000

/** A comment of server-sent events, which clients ignore. */
const heartbeat = Buffer.from(':\n\n')

/** Keeps the open subscriptions to live lists, sends heartbeats to them, and checks the credentials of the clients again. */
export class Subscriptions {
  readonly #open = new Set<Subscription>()
  /** Checks at intervals, and after changes of accounts. The second ones do not wait for the first ones. */
  readonly #regularChecks = new CheckQueue<Subscription>((subscription) => this.#check(subscription))
  readonly #changeChecks = new CheckQueue<Subscription>((subscription) => this.#check(subscription))
  readonly #checkTimeoutMs: number
  #changeCount = 0
  readonly #timers: readonly NodeJS.Timeout[]

  constructor({ liveHeartbeat, liveCheck }: SubscriptionIntervals) {
    this.#checkTimeoutMs = Math.max(liveCheck, minCheckTimeoutMs)
    this.#timers = [
      setInterval(() => this.#sendHeartbeats(), liveHeartbeat).unref(),
      setInterval(() => this.#regularChecks.add(this.#open), liveCheck).unref(),
    ]
  }

  /** Number of changes of accounts so far. */
  get changeCount(): number {
    return this.#changeCount
  }

  /**
   * Adds a subscription until its stream is closed. Its credentials are checked again if accounts have changed while its
   * list was read.
   * @param changeCount number of changes of accounts before that
   */
  add(subscription: Subscription, changeCount: number): void {
    this.#open.add(subscription)
    if (changeCount !== this.#changeCount) this.#changeChecks.add([subscription])
    subscription.stream.once('close', () => this.#open.delete(subscription))
  }

  /** Checks credentials again after accounts have changed. @param ids keys of the users; undefined for all clients */
  checkUsers(ids: readonly string[] | undefined): void {
    this.#changeCount += 1
    const isOf = ({ userId }: Subscription): boolean =>
      ids === undefined || (userId !== undefined && ids.includes(userId))
    this.#changeChecks.add([...this.#open].filter(isOf))
  }

  /** Ends the heartbeats and the checks at intervals. */
  end(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  #sendHeartbeats(): void {
    for (const { stream } of this.#open) stream.send(heartbeat)
  }

  /** Ends the subscription of a client that may not read its list any more, reads another list now, or cannot be checked. */
  async #check(subscription: Subscription): Promise<void> {
    const { check, list, stream } = subscription
    if (stream.destroyed) return
    const checked = check().catch(() => undefined)
    const key = await within(this.#checkTimeoutMs, checked, undefined)
    if (key !== list.source.key) stream.finish()
  }
}
