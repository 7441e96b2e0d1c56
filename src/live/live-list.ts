import { EventEmitter } from 'node:events'
import { ClientCounts } from '../access/client-counts'
import { ApiError, unavailable } from '../errors'
import type { EventStream } from './event-stream'
import { ListRecords } from './list-records'
import { ListSubscribers } from './list-subscribers'
import type { LiveSource } from './live-source'
import { type Pause, ReadSchedule } from './read-schedule'

/** Maximum number of changes of records that wait for a read; if there are more, all records are read. */
const maxChanged = 5000

/** Functions of `LiveLists` that a live list calls. */
export interface LiveListOwner {
  /** Adds a read to the queue of all lists. */
  readonly enqueue: (list: LiveList) => void
  /** Receives an error of a read that will be repeated. */
  readonly report: (error: unknown) => void
  /** Called when the {@link LiveList.count} of a list has grown. */
  readonly grown: () => void
  /** Ends a list that cannot be read. */
  readonly close: (list: LiveList, error: unknown) => void
}

/** Client of the reads of a list, which are cancelled when the list ends. */
class ListClient extends EventEmitter {
  destroyed = false

  close(): void {
    this.destroyed = true
    this.emit('close')
  }
}

/**
 * A list whose subscribers receive its changes. It stores the key and a digest of each record in the list. Therefore it
 * reports a record that leaves the list, but no change of a record that was not in the list, and no change of fields that the
 * subscribers cannot see. All subscribers share one statement for each change.
 */
export class LiveList {
  /** The subscriptions to the list: open ones, and those that wait for its first read. */
  readonly clients = new ClientCounts()
  /** Resolves when the list was read for the first time. */
  readonly loaded: Promise<void>
  readonly #records: ListRecords
  readonly #subscribers = new ListSubscribers()
  readonly #schedule: ReadSchedule
  readonly #client = new ListClient()
  /**
   * Keys of the records that have changed since the last read: one array for each change. All lists share these arrays. With a
   * set for each list, five changes of 1,000 records took 156 MB for 1,000 lists, and each blocked the event loop for 130 to 320
   * milliseconds.
   */
  #changed: (readonly string[])[] = []
  #changedCount = 0
  /** Whether all records are read next. */
  #isStale = true
  #isLoaded = false
  /** Settles {@link loaded}. */
  #load = { resolve: (): void => undefined, reject: (_error: unknown): void => undefined }

  constructor(
    readonly source: LiveSource,
    readonly owner: LiveListOwner,
  ) {
    this.#records = new ListRecords(source)
    this.#schedule = new ReadSchedule(
      () => owner.enqueue(this),
      () => this.#pauseBeforeRead(),
    )
    this.loaded = new Promise((resolve, reject) => {
      this.#load = { resolve, reject }
    })
    this.#schedule.queueRead()
  }

  /** Number of records in the list. */
  get size(): number {
    return this.#records.size
  }

  /** Number of records as which the list counts towards `limits.allLiveRecords`. */
  get count(): number {
    return this.#records.count
  }

  get isEnded(): boolean {
    return this.#schedule.isEnded
  }

  /** Whether the next read is of all records. */
  get readsAll(): boolean {
    return this.#isStale
  }

  /** Queues a read of the records with these keys, or of all records, which sends what has changed. */
  refresh(ids: readonly string[] | undefined): void {
    if (ids === undefined) this.#isStale = true
    // A read of all records finds all changes.
    else if (!this.#isStale) this.#noteChanged(this.#records.relevantOf(ids))
    if (this.#changedCount > maxChanged) this.#isStale = true
    if (this.#isStale) this.#forgetChanged()
    if (this.#isStale || this.#changedCount > 0) this.#schedule.queueRead()
    // A change was committed, so the database is available again.
    this.#schedule.repeatSoon()
  }

  /**
   * Adds a subscriber. It receives the events after the last one that it has received, or else `reset` with the whole list.
   * It cannot read the list with a request of its own instead: no event would report a change that is undone between that
   * request and the read of this list.
   * @param lastId the header `Last-Event-ID`
   */
  add(stream: EventStream, lastId: string | undefined): void {
    if (this.#subscribers.add(stream, lastId)) return
    this.#isStale = true
    this.#schedule.queueRead()
  }

  remove(stream: EventStream): void {
    this.#subscribers.remove(stream)
  }

  /** Ends all subscriptions. @param error of the list; undefined if the clients may connect again */
  end(error?: unknown): void {
    this.#schedule.end()
    this.#client.close()
    this.#subscribers.end(error)
    this.#load.reject(error ?? unavailable('the live list has ended; try again'))
  }

  #noteChanged(ids: readonly string[]): void {
    if (ids.length > 0) this.#changed.push(ids)
    this.#changedCount += ids.length
  }

  #forgetChanged(): void {
    this.#changed = []
    this.#changedCount = 0
  }

  /** Only reads of the whole list wait, and not as long for new subscribers. */
  #pauseBeforeRead(): Pause {
    if (!this.#isStale || !this.#isLoaded) return 'none'
    return this.#subscribers.areJoining ? 'short' : 'long'
  }

  /** Reads what has changed. Called by the queue. */
  async read(): Promise<void> {
    if (this.#schedule.isEnded) return
    const all = this.#isStale
    const changed = [...new Set(this.#changed.flat())]
    this.#forgetChanged()
    this.#isStale = false
    const start = performance.now()
    const { count } = this
    try {
      await this.#readAndSend(changed, all)
      this.#schedule.noteSuccess(all ? start : undefined)
      if (!this.#isLoaded) this.#load.resolve()
      else if (this.count > count) this.owner.grown()
      this.#isLoaded = true
      if (this.#isStale || this.#changedCount > 0) this.#schedule.queueRead()
    } catch (error) {
      this.#handleFailure(error, performance.now() - start)
    }
  }

  /**
   * Reads the list and sends what has changed.
   * @param changed keys of the records that have changed, in the order of the changes
   * @param all whether other records may have changed too
   */
  async #readAndSend(changed: readonly string[], all: boolean): Promise<void> {
    const joining = all ? this.#subscribers.joining : []
    const { events, whole, isIncomplete } = await this.#records.read({
      changed,
      all,
      keepsWhole: joining.length > 0,
      client: this.#client,
    })
    if (events === undefined) this.#subscribers.joinAll()
    else this.#subscribers.sendEvents(events)
    if (isIncomplete || events === undefined) this.#isStale = true
    this.#subscribers.sendWhole(joining, whole)
  }

  /** Repeats a failed read, or ends the list if the error is permanent. @param duration of the read, in milliseconds */
  #handleFailure(error: unknown, duration: number): void {
    if (this.#schedule.isEnded) return
    const isPermanent = error instanceof ApiError && error.code !== 'unavailable'
    if (!this.#isLoaded || isPermanent) {
      this.owner.close(this, error)
      return
    }
    const { isFailing } = this.#schedule
    this.#isStale = true
    this.#schedule.repeat(duration)
    if (!isFailing) this.owner.report(error)
  }
}
