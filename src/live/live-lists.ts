import { ClientCounts } from '../access/client-counts'
import type { TableChange } from '../connection/change-feed'
import { ApiError, retryAfterSeconds, unavailable } from '../errors'
import { isPassedOn, type PassingTables } from '../read/related-tables'
import { EventStream } from './event-stream'
import { LiveList } from './live-list'
import type { LiveSource } from './live-source'
import { ReadQueue } from './read-queue'
import { listToClose, recordShares } from './record-shares'
import { type Subscriber, type SubscriptionIntervals, Subscriptions } from './subscriptions'

/** Limits on the live lists of a mount: see `RequestLimits`. */
export interface LiveLimits extends SubscriptionIntervals {
  readonly liveLists: number
  readonly liveListsPerClient: number
  readonly allLiveRecords: number
  readonly liveBytes: number
}

/** A list without clients that is kept for clients that connect again. */
interface KeptList {
  /** The last client of the list. */
  readonly client: string
  readonly timer: NodeJS.Timeout
}

/** Time that a list without clients is kept, in milliseconds. */
const keepMs = 30_000

/** Paths of the tables that decide whether credentials are correct. */
export interface CredentialTables {
  /** The table of users; undefined if there are none. */
  readonly accounts: string | undefined
  readonly apiKeys: ReadonlySet<string>
  /** Tables whose changes may change rows of these tables. */
  readonly passing: PassingTables
}

/** The live lists of a mount. */
export class LiveLists {
  readonly #limits: LiveLimits
  readonly #report: (error: unknown) => void
  readonly #credentialTables: CredentialTables
  readonly #lists = new Map<string, LiveList>()
  /** The open subscriptions. */
  readonly #subscriptions: Subscriptions
  /** The lists without clients; the one that is kept longest comes first. */
  readonly #kept = new Map<LiveList, KeptList>()
  readonly #queue = new ReadQueue()
  /** The subscriptions to all lists: open ones, and those that wait for the first read of their list. */
  readonly #clients = new ClientCounts()
  #isEnded = false

  /** @param report receives the errors of reads */
  constructor(limits: LiveLimits, credentialTables: CredentialTables, report: (error: unknown) => void) {
    this.#limits = limits
    this.#credentialTables = credentialTables
    this.#report = report
    this.#subscriptions = new Subscriptions(limits)
  }

  /** Number of changes of accounts and API keys so far. */
  get credentialChanges(): number {
    return this.#subscriptions.credentialChanges
  }

  /**
   * Subscribes a client to a list.
   * @param check checks the list when it was read, before the first event
   * @throws {ApiError} `too-many-live-lists`, `unavailable`; and the errors of the first read
   */
  async subscribe(source: LiveSource, subscriber: Subscriber, check: (list: LiveList) => void): Promise<EventStream> {
    this.#requireSubscriptionsWithinLimits(subscriber)
    const list = this.#lists.get(source.key) ?? this.#open(source)
    this.#enter(list, subscriber)
    try {
      await this.#load(list, subscriber)
      check(list)
      return this.#add(list, subscriber)
    } catch (error) {
      this.#leave(list, subscriber)
      if (list.clients.isEmpty) this.#close(list)
      throw error
    }
  }

  /** Reads what has changed. @param changes undefined if every record may have changed */
  receive(changes: readonly TableChange[] | undefined): void {
    // First, so that events of the same transaction are already held back.
    this.#checkCredentials(changes)
    for (const list of this.#lists.values()) {
      const { table, relatedTables, passingTables } = list.source
      if (changes === undefined) list.refresh(undefined)
      for (const change of changes ?? []) {
        if (change.table === table) list.refresh(change.ids)
        if (isPassedOn(change, passingTables) || relatedTables.has(change.table)) list.refresh(undefined)
      }
    }
  }

  /** Checks the credentials that may be affected by changes. Until then, the clients receive no events. */
  #checkCredentials(changes: readonly TableChange[] | undefined): void {
    const { accounts, apiKeys, passing } = this.#credentialTables
    if (changes === undefined || changes.some((change) => isPassedOn(change, passing))) {
      this.#subscriptions.checkUsers(undefined)
      return
    }
    const account = changes.find(({ table }) => table === accounts)
    if (account !== undefined) this.#subscriptions.checkUsers(account.ids)
    if (changes.some(({ table }) => apiKeys.has(table))) this.#subscriptions.checkApiKeys()
  }

  /** Ends all subscriptions. Later subscriptions are refused. */
  end(): void {
    this.#isEnded = true
    this.#subscriptions.end()
    for (const list of this.#lists.values()) this.#close(list)
  }

  /** @throws {ApiError} `too-many-live-lists`, `unavailable` */
  #requireSubscriptionsWithinLimits({ client }: Subscriber): void {
    if (this.#isEnded) throw shuttingDown()
    const { liveLists, liveListsPerClient } = this.#limits
    if (this.#clients.total >= liveLists) {
      throw unavailable(`${liveLists} subscriptions to live lists are open already (limits.liveLists); try again`)
    }
    const own = this.#clients.of(client)
    if (own >= liveListsPerClient) {
      const detail = `you have ${own} subscriptions to live lists already (limits.liveListsPerClient); close one of them`
      throw new ApiError('too-many-live-lists', detail, { headers: { 'Retry-After': retryAfterSeconds } })
    }
  }

  #enter(list: LiveList, { client }: Subscriber): void {
    this.#forgetKept(list)
    this.#clients.add(client)
    list.clients.add(client)
    this.#queue.join(list, client)
  }

  #leave(list: LiveList, { client }: Subscriber): void {
    this.#clients.remove(client)
    list.clients.remove(client)
    if (list.clients.of(client) === 0) this.#queue.leave(list, client)
  }

  /** Waits for the first read of a list. @throws {ApiError} `unavailable`; and the errors of the read */
  async #load(list: LiveList, { client, disconnected }: Subscriber): Promise<void> {
    const isDisconnected = await Promise.race([list.loaded.then(() => false), disconnected.then(() => true)])
    if (isDisconnected) throw unavailable('the client has disconnected')
    if (this.#isEnded) throw shuttingDown()
    this.#makeRoomFor(client)
    // Another client of the list may have had too many records.
    if (list.isEnded) throw unavailable('the live list has ended; try again')
  }

  /**
   * Makes room for the records of a new subscription, or refuses it. Lists of a client that has more than half of the limit are
   * closed: they have grown since they were opened.
   * @throws {ApiError} `unavailable`
   */
  #makeRoomFor(client: string): void {
    const maxOfClient = Math.ceil(this.#limits.allLiveRecords / 2)
    if (recordShares(this.#lists.values()).of(client) > maxOfClient) {
      const detail = `your live lists would have more than ${maxOfClient} records, half of limits.allLiveRecords`
      throw unavailable(`${detail}; close one of them, or add filters`)
    }
    this.#closeUntilWithinLimit(maxOfClient)
    if (this.#hasTooManyRecords) throw this.#tooManyRecords()
  }

  /**
   * Closes lists until the limit of records is met: first those without clients, then those of the client with the most records.
   * @param keptOfClient a client with at most this number of records loses no list
   */
  #closeUntilWithinLimit(keptOfClient: number): void {
    if (!this.#hasTooManyRecords) return
    for (const list of this.#kept.keys()) this.#close(list)
    while (this.#hasTooManyRecords) {
      const list = listToClose([...this.#lists.values()], keptOfClient)
      if (list === undefined) return
      this.#close(list, this.#tooManyRecords())
    }
  }

  #tooManyRecords(): ApiError {
    return unavailable(`the live lists have more than ${this.#limits.allLiveRecords} records (limits.allLiveRecords)`)
  }

  get #hasTooManyRecords(): boolean {
    let count = 0
    for (const list of this.#lists.values()) count += list.count
    return count > this.#limits.allLiveRecords
  }

  #open(source: LiveSource): LiveList {
    this.#closeOldKept()
    const list = new LiveList(source, {
      enqueue: (waiting) => this.#queue.add(waiting),
      report: this.#report,
      grown: () => this.#closeUntilWithinLimit(0),
      close: (closed, error) => this.#close(closed, error),
    })
    this.#lists.set(source.key, list)
    // The subscribers that wait for it receive the error.
    list.loaded.catch(() => undefined)
    return list
  }

  #close(list: LiveList, error?: unknown): void {
    if (this.#lists.get(list.source.key) === list) this.#lists.delete(list.source.key)
    this.#forgetKept(list)
    this.#queue.remove(list)
    list.end(error)
  }

  #add(list: LiveList, subscriber: Subscriber): EventStream {
    const stream = new EventStream(this.#limits.liveBytes, subscriber.memory)
    this.#subscriptions.add({ ...subscriber, stream })
    stream.once('close', () => {
      list.remove(stream)
      this.#leave(list, subscriber)
      if (list.clients.isEmpty && !list.isEnded) this.#keep(list, subscriber)
    })
    list.add(stream, subscriber.lastId)
    return stream
  }

  /**
   * Keeps a list for clients that connect again. It is not read until then. One client can keep as many lists as it can have
   * subscriptions.
   */
  #keep(list: LiveList, { client }: Subscriber): void {
    const timer = setTimeout(() => this.#close(list), keepMs).unref()
    this.#kept.set(list, { client, timer })
    const own = [...this.#kept].filter(([, kept]) => kept.client === client)
    const [[oldest] = []] = own
    if (oldest !== undefined && own.length > this.#limits.liveListsPerClient) this.#close(oldest)
  }

  #forgetKept(list: LiveList): void {
    clearTimeout(this.#kept.get(list)?.timer)
    this.#kept.delete(list)
  }

  /** Closes the lists that are kept longest, so that there are not more lists than clients. */
  #closeOldKept(): void {
    for (const list of this.#kept.keys()) {
      if (this.#lists.size < this.#limits.liveLists) return
      this.#close(list)
    }
  }
}

function shuttingDown(): ApiError {
  return unavailable('the server is shutting down; try again')
}
