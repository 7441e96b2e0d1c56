import type { TableChange } from '../connection/change-feed'
import { ApiError, retryAfterSeconds, unavailable } from '../errors'
import type { ResponseMemory } from '../response/held-bytes'
import { nextPoll, within } from '../timers'
import { EventStream } from './event-stream'
import { LiveList } from './live-list'
import type { LiveSource } from './live-source'

/** Limits on the live lists of a mount: see `RequestLimits`. */
export interface LiveLimits {
  readonly liveLists: number
  readonly liveListsPerClient: number
  readonly allLiveRecords: number
  readonly liveBytes: number
  readonly liveHeartbeat: number
  readonly liveCheck: number
}

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
  /**
   * Checks the credentials again. Returns the key of the list that the client may subscribe to now.
   * @throws {ApiError} if the client may not read it any more
   */
  readonly check: () => Promise<string>
}

interface Subscription extends Subscriber {
  readonly list: LiveList
  readonly stream: EventStream
}

/** Number of lists that read the database at the same time. */
const concurrentReads = 2
/** Number of subscriptions whose credentials are checked at the same time. */
const concurrentChecks = 8
/** Time limit of a check, in milliseconds, unless `limits.liveCheck` is longer. */
const minCheckMs = 10_000
/** Time that a list without subscribers is kept for clients that connect again, in milliseconds. */
const keepMs = 30_000

/** The live lists of a mount. */
export class LiveLists {
  readonly #limits: LiveLimits
  readonly #report: (error: unknown) => void
  readonly #accountTable: string | undefined
  readonly #lists = new Map<string, LiveList>()
  readonly #subscriptions = new Set<Subscription>()
  /** The subscriptions that are being checked. */
  readonly #checking = new Set<Subscription>()
  readonly #waiting: (() => Promise<void>)[] = []
  readonly #timers: readonly NodeJS.Timeout[]
  /** Number of subscriptions of each client: open ones, and those that wait for the first read of their list. */
  readonly #subscriptionCounts = new Map<string, number>()
  #runningReads = 0
  #isEnded = false

  /**
   * @param accountTable path of the table of users; undefined if there are none
   * @param report receives the errors of reads
   */
  constructor(limits: LiveLimits, accountTable: string | undefined, report: (error: unknown) => void) {
    this.#limits = limits
    this.#accountTable = accountTable
    this.#report = report
    this.#timers = [
      setInterval(() => this.#sendHeartbeats(), limits.liveHeartbeat).unref(),
      setInterval(() => void this.#checkAll([...this.#subscriptions]), limits.liveCheck).unref(),
    ]
  }

  /**
   * Subscribes a client to a list.
   * @param check checks the list when it was read, before the first event
   * @throws {ApiError} `too-many-live-lists`, `unavailable`; and the errors of the first read
   */
  async subscribe(source: LiveSource, subscriber: Subscriber, check: (list: LiveList) => void): Promise<EventStream> {
    const release = this.#countSubscription(subscriber)
    try {
      const list = this.#lists.get(source.key) ?? this.#open(source)
      const stream = await this.#join(list, subscriber, check)
      stream.once('close', release)
      return stream
    } catch (error) {
      release()
      throw error
    }
  }

  /** Reads what has changed. @param changes undefined if every record may have changed */
  receive(changes: readonly TableChange[] | undefined): void {
    for (const list of this.#lists.values()) {
      const { table, relatedTables, cascadingTables } = list.source
      if (changes === undefined) list.refresh(undefined)
      for (const change of changes ?? []) {
        const isRelated = relatedTables.has(change.table) || (change.isDeletion && cascadingTables.has(change.table))
        if (change.table === table) list.refresh(change.ids)
        if (isRelated) list.refresh(undefined)
      }
    }
    const account = changes?.find(({ table }) => table === this.#accountTable)
    if (account !== undefined) void this.#checkAll(this.#subscriptionsOf(account.ids))
  }

  /** Ends all subscriptions. Later subscriptions are refused. */
  end(): void {
    this.#isEnded = true
    for (const timer of this.#timers) clearInterval(timer)
    for (const list of this.#lists.values()) list.end()
    this.#lists.clear()
  }

  /** Counts a subscription. @returns a function to call at its end */
  #countSubscription({ client }: Subscriber): () => void {
    if (this.#isEnded) throw shuttingDown()
    const { liveLists, liveListsPerClient } = this.#limits
    const all = [...this.#subscriptionCounts.values()].reduce((sum, count) => sum + count, 0)
    if (all >= liveLists) {
      throw unavailable(`${liveLists} subscriptions to live lists are open already (limits.liveLists); try again`)
    }
    const own = this.#subscriptionCounts.get(client) ?? 0
    if (own >= liveListsPerClient) {
      const detail = `you have ${own} subscriptions to live lists already (limits.liveListsPerClient); close one of them`
      throw new ApiError('too-many-live-lists', detail, { headers: { 'Retry-After': retryAfterSeconds } })
    }
    this.#subscriptionCounts.set(client, own + 1)
    return () => {
      const left = (this.#subscriptionCounts.get(client) ?? 0) - 1
      if (left > 0) this.#subscriptionCounts.set(client, left)
      else this.#subscriptionCounts.delete(client)
    }
  }

  async #join(list: LiveList, subscriber: Subscriber, check: (list: LiveList) => void): Promise<EventStream> {
    list.waiting += 1
    try {
      await list.loaded
      if (this.#isEnded) throw shuttingDown()
      this.#requireRecordsWithinLimit()
      check(list)
      return this.#add(list, subscriber)
    } finally {
      list.waiting -= 1
      this.#closeUnused(list)
    }
  }

  /** Closes lists without subscribers if there are too many records. @throws {ApiError} `unavailable` */
  #requireRecordsWithinLimit(): void {
    const { allLiveRecords } = this.#limits
    if (this.#recordCount() <= allLiveRecords) return
    for (const list of this.#lists.values()) this.#closeUnused(list)
    if (this.#recordCount() <= allLiveRecords) return
    throw unavailable(`the live lists have more than ${allLiveRecords} records (limits.allLiveRecords)`)
  }

  /** Ends a list that has grown so that there are too many records. */
  #closeBeyondLimit(list: LiveList): void {
    try {
      this.#requireRecordsWithinLimit()
    } catch (error) {
      this.#close(list, error)
    }
  }

  #recordCount(): number {
    let count = 0
    for (const list of this.#lists.values()) count += list.size
    return count
  }

  #open(source: LiveSource): LiveList {
    this.#closeOldUnused()
    const list = new LiveList(source, {
      enqueue: (read) => this.#enqueue(read),
      report: this.#report,
      grown: (longer) => this.#closeBeyondLimit(longer),
      close: (closed, error) => this.#close(closed, error),
    })
    this.#lists.set(source.key, list)
    // The subscribers that wait for it receive the error.
    list.loaded.catch(() => undefined)
    return list
  }

  #close(list: LiveList, error?: unknown): void {
    if (this.#lists.get(list.source.key) === list) this.#lists.delete(list.source.key)
    list.end(error)
  }

  #add(list: LiveList, subscriber: Subscriber): EventStream {
    const stream = new EventStream(this.#limits.liveBytes, subscriber.memory)
    const subscription = { ...subscriber, list, stream }
    this.#subscriptions.add(subscription)
    stream.once('close', () => {
      this.#subscriptions.delete(subscription)
      list.remove(stream)
      if (list.subscriberCount === 0) setTimeout(() => this.#closeUnused(list), keepMs).unref()
    })
    list.add(stream, subscriber.lastId)
    return stream
  }

  /** Closes the oldest lists that are kept for clients that connect again, so that there are not more lists than clients. */
  #closeOldUnused(): void {
    for (const list of this.#lists.values()) {
      if (this.#lists.size < this.#limits.liveLists) return
      this.#closeUnused(list)
    }
  }

  #closeUnused(list: LiveList): void {
    if (list.subscriberCount === 0 && list.waiting === 0) this.#close(list)
  }

  /** Runs a read when fewer than {@link concurrentReads} others run. */
  #enqueue(read: () => Promise<void>): void {
    this.#waiting.push(read)
    if (this.#runningReads < concurrentReads) void this.#runWaiting()
  }

  async #runWaiting(): Promise<void> {
    this.#runningReads += 1
    for (let read = this.#waiting.shift(); read !== undefined; read = this.#waiting.shift()) {
      await read().catch(() => undefined)
      // With a synchronous driver, other requests run only in between.
      await nextPoll()
    }
    this.#runningReads -= 1
  }

  #sendHeartbeats(): void {
    for (const { stream } of this.#subscriptions) stream.send(heartbeat)
  }

  #subscriptionsOf(userIds: readonly string[] | undefined): readonly Subscription[] {
    const isOf = ({ userId }: Subscription): boolean =>
      userIds === undefined || (userId !== undefined && userIds.includes(userId))
    return [...this.#subscriptions].filter(isOf)
  }

  /** Checks several subscriptions, a few at the same time. */
  async #checkAll(subscriptions: readonly Subscription[]): Promise<void> {
    const waiting = subscriptions.values()
    const checkWaiting = async (): Promise<void> => {
      for (const subscription of waiting) await this.#check(subscription)
    }
    await Promise.all(Array.from({ length: concurrentChecks }, checkWaiting))
  }

  /** Ends the subscription of a client that may not read its list any more, reads another list now, or cannot be checked. */
  async #check(subscription: Subscription): Promise<void> {
    const { check, list, stream } = subscription
    if (stream.destroyed || this.#checking.has(subscription)) return
    this.#checking.add(subscription)
    const checked = check().catch(() => undefined)
    const key = await within(Math.max(this.#limits.liveCheck, minCheckMs), checked, undefined)
    this.#checking.delete(subscription)
    if (key !== list.source.key) stream.finish()
  }
}

const heartbeat = Buffer.from(':\n\n')

function shuttingDown(): ApiError {
  return unavailable('the server is shutting down; try again')
}
