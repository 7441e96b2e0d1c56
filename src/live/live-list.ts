import { createHash } from 'node:crypto'
import { ApiError, unavailable } from '../errors'
import type { Json } from '../value/value-type'
import { EventBuffer } from './event-buffer'
import type { EventStream } from './event-stream'

/** Receives a record as JSON. */
export type ReceiveRecord = (id: string, json: string) => void

/** The records of a live list, as all its subscribers see them. */
export interface LiveSource {
  /** Two sources with the same key have the same records with the same fields. */
  readonly key: string
  /** Path of the table of the records. */
  readonly table: string
  /** Tables that filters, row scopes and included records depend on. */
  readonly relatedTables: ReadonlySet<string>
  /** Tables whose deletions may change the other tables by foreign keys. */
  readonly cascadingTables: ReadonlySet<string>
  /** Whether it is an item, so that there is one record at most. */
  readonly isItem: boolean
  /** Maximum number of records. */
  readonly maxRecords: number
  /** Maximum size of all records, in bytes. */
  readonly maxBytes: number
  /** Whether the database ignores case or accents in keys. */
  readonly comparesKeysLoosely: boolean
  /** Returns the key of a record as records show it. */
  readonly idOf: (id: string) => Json
  /**
   * Reads the records with these keys that are in the list now, in any order. Without keys, all of them.
   * @param receive receives each record as JSON
   * @throws {ApiError} `bad-query` if they are too many
   */
  readonly read: (ids: readonly string[] | undefined, receive: ReceiveRecord) => Promise<void>
}

/** Maximum number of events of one read. If there are more, the subscribers receive the whole list instead. */
const maxEvents = 500
/** Maximum number of changed records that wait for a reading; if there are more, all records are read. */
const maxChanged = 5000
/**
 * After the whole list was read, the next read of the whole list waits this many times as long as the read took, so that long
 * lists do not load the database.
 */
const pauseFactor = 10
/** Delay before a failed read is repeated, in milliseconds: the first one, and the maximum. */
const firstRetryMs = 100
const maxRetryMs = 10_000

/** Functions of `LiveLists` that a live list calls. */
export interface LiveListOwner {
  /** Adds a read to the queue of all lists. */
  readonly enqueue: (read: () => Promise<void>) => void
  /** Receives an error of a read that will be repeated. */
  readonly report: (error: unknown) => void
  /** Receives a list that has more records than before. */
  readonly grown: (list: LiveList) => void
  /** Ends a list that cannot be read. */
  readonly close: (list: LiveList, error: unknown) => void
}

interface ListEvent {
  readonly name: 'created' | 'updated' | 'gone'
  /** JSON. */
  readonly data: string
}

/**
 * A list whose subscribers receive its changes. It stores the key and a digest of each record in the list. Therefore it
 * reports a record that leaves the list, but no change of a record that was not in the list, and no change of fields that the
 * subscribers cannot see. All subscribers share one statement for each change.
 */
export class LiveList {
  readonly streams = new Set<EventStream>()
  /** The subscribers that receive the whole list when it is read next, and until then no events. */
  readonly #joining = new Set<EventStream>()
  /** Number of clients that wait until the list was read for the first time. */
  waiting = 0
  /** Resolves when the list was read for the first time. */
  readonly loaded: Promise<void>
  /** Digests of the records, by key. */
  readonly #records = new Map<string, number>()
  readonly #sent = new EventBuffer()
  #changed = new Set<string>()
  #isStale = true
  #isLoaded = false
  /** Whether a read is queued or running, or will be repeated. */
  #isQueued = false
  #isEnded = false
  /** Whether the last read has failed. */
  #isFailing = false
  /** Time at which the whole list was read last, and durations of the last two such reads, in milliseconds. */
  #readEnd = 0
  #durations: readonly number[] = []
  #retryMs = firstRetryMs
  /** Duration of the last read that has failed, in milliseconds. */
  #failedMs = 0
  #retryTimer: NodeJS.Timeout | undefined
  #pauseTimer: NodeJS.Timeout | undefined
  #load = { resolve: (): void => undefined, reject: (_error: unknown): void => undefined }

  constructor(
    readonly source: LiveSource,
    readonly owner: LiveListOwner,
  ) {
    this.loaded = new Promise((resolve, reject) => {
      this.#load = { resolve, reject }
    })
    this.#schedule()
  }

  /** Number of records in the list. */
  get size(): number {
    return this.#records.size
  }

  /** Reads the records with these keys, or all records, and sends what has changed. */
  refresh(ids: readonly string[] | undefined): void {
    if (ids === undefined) this.#isStale = true
    // A complete reading finds all changes.
    for (const id of this.#isStale ? [] : (ids ?? [])) if (this.#mayContain(id)) this.#changed.add(id)
    if (this.#changed.size > maxChanged) this.#isStale = true
    if (this.#isStale) this.#changed = new Set()
    if (this.#isStale || this.#changed.size > 0) this.#schedule()
    // A change was committed, so the database is available again.
    if (this.#retryTimer !== undefined && this.#retryMs > firstRetryMs) this.#retryIn(firstRetryMs)
  }

  /** Whether a change of this key can change the list. A live item ignores changes of other records. */
  #mayContain(id: string): boolean {
    return !this.source.isItem || this.#records.size === 0 || this.#records.has(id)
  }

  /**
   * Adds a subscriber. It receives the events after the last one that it has received, or else `reset` with the whole list.
   * The list cannot come from a separate request: a change that this request sees, and that is undone before the list is read
   * here, causes no event.
   * @param lastId the header `Last-Event-ID`
   */
  add(stream: EventStream, lastId: string | undefined): void {
    const missed = this.#sent.after(lastId)
    this.streams.add(stream)
    stream.send(Buffer.from('retry: 1000\n\n'))
    if (missed === undefined) this.#sendWhole([stream])
    else for (const bytes of missed) stream.send(bytes)
  }

  remove(stream: EventStream): void {
    this.streams.delete(stream)
    this.#joining.delete(stream)
  }

  /** Ends all subscriptions. @param error of the list; undefined if the clients may connect again */
  end(error?: unknown): void {
    this.#isEnded = true
    clearTimeout(this.#retryTimer)
    clearTimeout(this.#pauseTimer)
    for (const stream of this.streams) error === undefined ? stream.finish() : stream.fail(error)
    this.#load.reject(error ?? unavailable('the live list has ended; try again'))
  }

  /** Sends the whole list to some subscribers when it was read. */
  #sendWhole(streams: Iterable<EventStream>): void {
    for (const stream of streams) this.#joining.add(stream)
    this.#isStale = true
    this.#schedule()
  }

  /** Queues a read of the list, unless one is queued already. The pause before it is shorter if there are new subscribers. */
  #schedule(): void {
    if (this.#isQueued || this.#isEnded) return
    // A read that has waited for a lock or a connection takes longer than others: the shorter one of the last two durations
    // is used.
    const pause = (this.#joining.size > 0 ? 1 : pauseFactor) * Math.min(...this.#durations)
    const wait = this.#isStale && this.#isLoaded ? this.#readEnd + pause - performance.now() : 0
    if (wait > 0) {
      this.#pauseTimer ??= setTimeout(() => {
        this.#pauseTimer = undefined
        this.#schedule()
      }, wait).unref()
      return
    }
    this.#isQueued = true
    this.owner.enqueue(this.#read)
  }

  readonly #read = async (): Promise<void> => {
    if (this.#isEnded) return
    const wasStale = this.#isStale
    const changed = [...this.#changed]
    this.#changed = new Set()
    this.#isStale = false
    const start = performance.now()
    const { size } = this
    try {
      await this.#readChanges(changed, wasStale)
      if (wasStale) {
        this.#readEnd = performance.now()
        this.#durations = [...this.#durations, this.#readEnd - start].slice(-2)
      }
      this.#isFailing = false
      this.#isQueued = false
      if (!this.#isLoaded) this.#load.resolve()
      else if (this.size > size) this.owner.grown(this)
      this.#isLoaded = true
      if (this.#isStale || this.#changed.size > 0) this.#schedule()
    } catch (error) {
      this.#failed(error, performance.now() - start)
    }
  }

  /**
   * Repeats a failed read later, so that the list is correct when the database is available again.
   * @param duration of the read, in milliseconds
   */
  #failed(error: unknown, duration: number): void {
    const isPermanent = error instanceof ApiError && error.code !== 'unavailable'
    if (!this.#isLoaded || isPermanent) {
      this.owner.close(this, error)
      return
    }
    if (!this.#isFailing) this.owner.report(error)
    this.#isStale = true
    this.#failedMs = duration
    this.#retryIn(this.#isFailing ? Math.min(maxRetryMs, this.#retryMs * 2) : firstRetryMs)
    this.#isFailing = true
  }

  #retryIn(milliseconds: number): void {
    this.#retryMs = milliseconds
    clearTimeout(this.#retryTimer)
    // A read that takes long before it fails must not be repeated all the time.
    const wait = Math.max(milliseconds, this.#failedMs)
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined
      this.owner.enqueue(this.#read)
    }, wait).unref()
  }

  /** @param changed keys of the records that have changed, in their order @param all whether others may have changed too */
  async #readChanges(changed: readonly string[], all: boolean): Promise<void> {
    const { source } = this
    const missing = new Set(all ? this.#records.keys() : changed)
    const joining = all ? [...this.#joining] : []
    const whole: string[] = []
    let bytes = 0
    // Stored after all records are read: after an error, there must be no digests of changes that were not sent.
    const digests = new Map<string, number>()
    const events = new Map<string, ListEvent>()
    let count = 0
    const add = (id: string, name: ListEvent['name'], data: string): void => {
      count += 1
      if (count <= maxEvents) events.set(id, { name, data })
    }
    await source.read(all ? undefined : changed, (id, json) => {
      missing.delete(id)
      bytes += Buffer.byteLength(json)
      if (bytes > source.maxBytes) throw tooManyBytes(source.maxBytes)
      if (joining.length > 0) whole.push(json)
      const digest = digestOf(json)
      const known = this.#records.get(id)
      if (known === digest) return
      digests.set(id, digest)
      if (this.#isLoaded) add(id, known === undefined ? 'created' : 'updated', json)
    })
    for (const [id, digest] of digests) this.#records.set(id, digest)
    for (const id of missing) {
      if (this.#records.delete(id)) add(id, 'gone', JSON.stringify({ id: source.idOf(id) }))
      // The change may name the key in another spelling than the record.
      else if (source.comparesKeysLoosely && !all) this.#isStale = true
    }
    if (this.#records.size > source.maxRecords) throw tooManyRecords(source.maxRecords)
    if (count > maxEvents) this.#resetAll()
    else this.#sendInOrder(new Set([...changed, ...events.keys()]), events)
    if (joining.length > 0) this.#sendReset(joining, whole)
  }

  /** Sends the events of one read together: a client cannot receive anything in between. */
  #sendInOrder(ids: Iterable<string>, events: ReadonlyMap<string, ListEvent>): void {
    const sent: Buffer[] = []
    for (const id of ids) {
      const event = events.get(id)
      if (event !== undefined) sent.push(this.#sent.add(event.name, event.data))
    }
    if (sent.length === 0) return
    const bytes = Buffer.concat(sent)
    for (const stream of this.streams) {
      if (!this.#joining.has(stream)) stream.send(bytes, Math.ceil(bytes.length / this.streams.size))
    }
  }

  /** Sends the whole list to all subscribers, instead of very many events. */
  #resetAll(): void {
    this.#sent.clear()
    this.#sendWhole(this.streams)
  }

  #sendReset(streams: readonly EventStream[], records: readonly string[]): void {
    const bytes = this.#sent.textOf('reset', `[${records.join(',')}]`)
    // All streams have the same bytes, which are in memory once.
    const share = Math.ceil(bytes.length / streams.length)
    for (const stream of streams) if (this.#joining.delete(stream)) stream.sendWhole(bytes, share)
  }
}

/** Creates the refusal of a list that is too long to be live. */
export function tooManyRecords(maxRecords: number): ApiError {
  return new ApiError(
    'bad-query',
    `a live list may have at most ${maxRecords} records (limits.liveRecords); add filters`,
  )
}

/** Creates the refusal of a list whose records are too large to be sent together. */
function tooManyBytes(maxBytes: number): ApiError {
  return new ApiError(
    'bad-query',
    `a live list may have at most ${maxBytes} bytes (limits.pageBytes); add filters, or select fields`,
  )
}

/** The first 48 bits of the SHA-256 of a text, as an integer: it takes less memory than a text. */
function digestOf(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6)
}
