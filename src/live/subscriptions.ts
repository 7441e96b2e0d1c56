import type { ResponseMemory } from '../response/held-bytes'
import { within } from '../timers'
import { CheckQueue } from './check-queue'
import type { EventStream } from './event-stream'

export type CheckResult = 'permitted' | 'refused' | 'unavailable'

/** A client that subscribes to a live list. */
export interface Subscriber {
  /** Identifies the user, or the network address of an anonymous client. */
  readonly client: string
  /** Key of the user as a text; undefined for an anonymous client. */
  readonly userId: string | undefined
  /** Whether its credentials are an API key. */
  readonly hasApiKey: boolean
  /** Number of changes of accounts and API keys before its credentials were verified; undefined if it is not known. */
  readonly credentialChanges: number | undefined
  /** Counts the bytes that wait for the client. */
  readonly memory: ResponseMemory
  /** The header `Last-Event-ID`. */
  readonly lastId: string | undefined
  /** Resolves when the client has disconnected. */
  readonly disconnected: Promise<void>
  /**
   * Checks the credentials again. The result is `refused` also if the client would now read another list, and `unavailable` if
   * the database does not respond.
   * @throws {ApiError} if the client may not read the list any more
   */
  readonly check: () => Promise<CheckResult>
}

/** An open subscription. */
interface Subscription extends Subscriber {
  readonly stream: EventStream
}

/** Intervals in milliseconds: see `RequestLimits`. */
export interface SubscriptionIntervals {
  readonly liveHeartbeat: number
  readonly liveCheck: number
}

/** Minimum time limit of a check, in milliseconds. It is `limits.liveCheck` if this is longer. */
const minCheckTimeoutMs = 10_000
/** Delay before a check is repeated for which the database was not available, in milliseconds. */
const retryMs = 1000

/** A comment of server-sent events, which clients ignore. */
const heartbeat = Buffer.from(':\n\n')

/** Keeps the open subscriptions to live lists, sends heartbeats to them, and checks the credentials of the clients again. */
export class Subscriptions {
  readonly #open = new Set<Subscription>()
  /** Checks at intervals. */
  readonly #regularChecks = new CheckQueue<Subscription>((subscription) => this.#check(subscription))
  /** Checks of clients whose account has changed. They do not wait for the checks of {@link #groupChecks}. */
  readonly #userChecks = new CheckQueue<Subscription>((subscription) => this.#checkAfterChange(subscription))
  /** Checks of clients whose account or API key may have changed, and repeated ones. They do not wait for those at intervals. */
  readonly #groupChecks = new CheckQueue<Subscription>((subscription) => this.#checkAfterChange(subscription))
  readonly #checkTimeoutMs: number
  #credentialChanges = 0
  readonly #timers: readonly NodeJS.Timeout[]

  constructor({ liveHeartbeat, liveCheck }: SubscriptionIntervals) {
    this.#checkTimeoutMs = Math.max(liveCheck, minCheckTimeoutMs)
    this.#timers = [
      setInterval(() => this.#sendHeartbeats(), liveHeartbeat).unref(),
      setInterval(() => this.#regularChecks.add(this.#open), liveCheck).unref(),
    ]
  }

  /** Number of changes of accounts and API keys so far. */
  get credentialChanges(): number {
    return this.#credentialChanges
  }

  /**
   * Adds a subscription until its stream is closed. If accounts have changed since its credentials were verified, they are
   * checked again before it receives events.
   */
  add(subscription: Subscription): void {
    this.#open.add(subscription)
    if (subscription.credentialChanges !== this.#credentialChanges)
      this.#requireChecks([subscription], this.#groupChecks)
    subscription.stream.once('close', () => this.#open.delete(subscription))
  }

  /** Checks credentials again after accounts have changed. @param ids keys of the users; undefined for all clients */
  checkUsers(ids: readonly string[] | undefined): void {
    this.#credentialChanges += 1
    if (ids === undefined) this.#requireChecks([...this.#open], this.#groupChecks)
    else
      this.#requireChecks(
        this.#openWhere(({ userId }) => userId !== undefined && ids.includes(userId)),
        this.#userChecks,
      )
  }

  /** Checks API keys again after some have changed. The change does not say whose keys they are. */
  checkApiKeys(): void {
    this.#credentialChanges += 1
    this.#requireChecks(
      this.#openWhere(({ hasApiKey }) => hasApiKey),
      this.#groupChecks,
    )
  }

  /** Ends the heartbeats and the checks at intervals. */
  end(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  #openWhere(isAffected: (subscription: Subscription) => boolean): readonly Subscription[] {
    return [...this.#open].filter(isAffected)
  }

  /** Checks credentials again. Until then, the subscriptions receive no events. */
  #requireChecks(subscriptions: readonly Subscription[], queue: CheckQueue<Subscription>): void {
    for (const { stream } of subscriptions) stream.requireCheck(this.#credentialChanges)
    queue.add(subscriptions)
  }

  #sendHeartbeats(): void {
    for (const { stream } of this.#open) stream.send(heartbeat)
  }

  /** Checks a subscription after a change, unless a check of another queue has covered it. */
  async #checkAfterChange(subscription: Subscription): Promise<void> {
    if (subscription.stream.needsCheck) await this.#check(subscription)
  }

  /** Ends the subscription of a client that may not read its list any more, reads another list now, or cannot be checked. */
  async #check(subscription: Subscription): Promise<void> {
    const { check, stream } = subscription
    if (stream.destroyed) return
    const credentialChanges = this.#credentialChanges
    const checked = check().catch(() => 'refused' as const)
    const result = await within(this.#checkTimeoutMs, checked, 'refused')
    if (result === 'permitted') stream.noteCheck(credentialChanges)
    else if (result === 'refused') stream.finish()
    else if (stream.needsCheck) setTimeout(() => this.#groupChecks.add([subscription]), retryMs).unref()
  }
}
