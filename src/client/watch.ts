import { followEvents, type LiveEvent, type LiveRecord, retryWhileUnavailable } from './events.ts'
import { type QueryOptions, queryOf } from './query.ts'
import { type Send, sleep } from './send.ts'

/** Reads the records of a list, as the method `all` of the client. */
type ReadAll = (filters: object, options: QueryOptions) => AsyncIterable<LiveRecord>

/** Number of ids that one request reads. */
const pageSize = 100
/** Minimum time between two lists, in milliseconds, so that the changes of one write do not cause several lists. */
const minIntervalMs = 50

/**
 * Yields the records of a list, at the start and after each change.
 * @param collection URL of the collection
 */
export function watchList(
  send: Send,
  collection: string,
  readAll: ReadAll,
  filters: object,
  options: QueryOptions,
): AsyncGenerator<readonly never[], void, undefined> {
  const stop = new AbortController()
  const lists = generateLists(send, collection, readAll, filters, options, stop)
  const finish = lists.return.bind(lists)
  // Without this, `return()` would wait for the next change.
  lists.return = (value) => {
    stop.abort()
    return finish(value)
  }
  return lists as AsyncGenerator<readonly never[], void, undefined>
}

async function* generateLists(
  send: Send,
  collection: string,
  readAll: ReadAll,
  filters: object,
  options: QueryOptions,
  stop: AbortController,
): AsyncGenerator<readonly LiveRecord[], void, undefined> {
  const { ordering = 'id', limit = Number.POSITIVE_INFINITY, signal: given, fields, ...others } = options
  const sortNames = String(ordering)
    .split(',')
    .map((name) => name.replace(/^-|__nulls(first|last)$/g, ''))
  // Without the fields of the ordering, the service would not send an event when only these change.
  const sortFields = sortNames.filter((name) => !name.includes('__'))
  const selection = { ...others, ordering, ...(fields && { fields: [...fields, ...sortFields] }) }
  const signal = given === undefined ? stop.signal : AbortSignal.any([given, stop.signal])
  const list = new WatchedList(sortNames, limit, String(ordering).startsWith('-'))
  const url = collection + queryOf(filters, selection)
  const { include: _, ...plain } = selection
  const pages = { ...plain, fields: ['id'], signal, after: '', limit: Math.min(limit, pageSize) }
  const sort = (): Promise<void> => list.sort(readAll(filters, pages))
  followEvents(send, url, signal, (events) => list.receive(events)).catch((error: unknown) => list.fail(error))
  try {
    for (;;) {
      await list.changed()
      // Only the database can sort texts: their order depends on its collation.
      if (list.isUnsorted) await retryWhileUnavailable(sort, signal)
      yield list.take()
      await sleep(minIntervalMs, signal)
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    stop.abort()
  }
}

/** The records of a list, which change by events. */
class WatchedList {
  /** Whether the records are not in the order of the service any more. */
  isUnsorted = false
  readonly #sortNames: readonly string[]
  readonly #limit: number
  readonly #isDescending: boolean
  #records = new Map<unknown, LiveRecord>()
  /** Number of records at the start that are in the order of the service. */
  #sortedCount = Number.POSITIVE_INFINITY
  #hasChanged = false
  #failure: { readonly error: unknown } | undefined
  #notify = (): void => undefined

  /**
   * @param sortNames fields of the ordering
   * @param limit maximum number of records to show
   * @param isDescending whether the first field sorts from the highest value
   */
  constructor(sortNames: readonly string[], limit: number, isDescending: boolean) {
    this.#sortNames = sortNames
    this.#limit = limit
    this.#isDescending = isDescending
  }

  /** Waits until there are changes. @throws the error that has ended the subscription */
  async changed(): Promise<void> {
    while (!this.#hasChanged) {
      if (this.#failure !== undefined) throw this.#failure.error
      await new Promise<void>((resolve) => {
        this.#notify = resolve
      })
    }
  }

  /** Returns the records with all changes. */
  take(): readonly LiveRecord[] {
    this.#hasChanged = false
    return [...this.#records.values()].slice(0, this.#limit)
  }

  receive(events: readonly LiveEvent[]): void {
    for (const event of events) this.#apply(event)
    this.#hasChanged = true
    this.#notify()
  }

  fail(error: unknown): void {
    this.#failure = { error }
    this.#notify()
  }

  /**
   * Sorts the records as the service does. Only the ids are used, because the values of another request could be newer or older
   * than those of the events.
   * @param sorted the ids of the list, in its order
   */
  async sort(sorted: AsyncIterable<LiveRecord>): Promise<void> {
    // Events that arrive meanwhile may change the order again.
    this.isUnsorted = false
    const ids: unknown[] = []
    try {
      for await (const { id } of sorted) if (ids.push(id) >= this.#limit) break
    } catch (error) {
      this.isUnsorted = true
      throw error
    }
    const first = ids.filter((id) => this.#records.has(id))
    this.#records = new Map([...first, ...this.#records.keys()].map((id) => [id, this.#records.get(id) as LiveRecord]))
    this.#sortedCount = ids.length < this.#limit ? Number.POSITIVE_INFINITY : first.length
  }

  #apply(event: LiveEvent): void {
    if (event.name === 'reset') {
      this.#records = new Map(event.data.map((record) => [record.id, record]))
      this.#sortedCount = Number.POSITIVE_INFINITY
      this.isUnsorted = false
      return
    }
    const { name, data } = event
    const known = this.#records.get(data.id)
    if (name !== 'gone') {
      this.#records.set(data.id, data)
      if (known === undefined) this.#sortNew(data)
      else if (this.#positionOf(known) !== this.#positionOf(data)) this.isUnsorted = true
    } else if (this.#records.delete(data.id)) {
      // A record from beyond the limit moves into the list, and its position must be read.
      this.#sortedCount -= 1
      if (this.#sortedCount < this.#limit) this.isUnsorted = true
    }
  }

  /** Moves a new record to its position, if the list is sorted by a numeric id. Otherwise the list must be sorted again. */
  #sortNew({ id }: LiveRecord): void {
    if (this.#sortNames.join() !== 'id' || typeof id !== 'number') {
      this.isUnsorted = true
      return
    }
    const factor = this.#isDescending ? -1 : 1
    const entries = [...this.#records] as [number, LiveRecord][]
    this.#records = new Map(entries.sort(([a], [b]) => factor * (a - b)))
  }

  /** Text of the values that determine the position of a record: its sort fields, or the whole record to sort by a relation. */
  #positionOf(record: LiveRecord): string {
    return JSON.stringify(this.#sortNames.map((name) => (name in record ? record[name] : record)))
  }
}
