import { type Reply, send } from '../client'
import type { LiveEvent } from '../support/event-reader'
import { EventReader } from '../support/event-reader'
import { sleep } from './time'

/** A record of a list. */
export interface LiveRecord {
  readonly id: number
  readonly [name: string]: unknown
}

/** Options of a copy. */
export interface CopyOptions {
  /** Path of the list below `/api/`. */
  readonly path: string
  /** Value of the header `X-User`. */
  readonly user: string
  /**
   * Longest time until the connection is closed and opened again, in milliseconds; of ten times, one without `Last-Event-ID`.
   * Default: it stays open.
   */
  readonly disconnectsWithin?: number
}

/** A client that keeps a copy of a list: `reset` has the whole list, and the other events change it. */
export class LiveCopy {
  readonly records = new Map<number, LiveRecord>()
  /** All events, in their order. */
  readonly events: LiveEvent[] = []
  /** Statuses of refused subscriptions. */
  readonly refusals: number[] = []
  connections = 0
  #reader: EventReader | undefined
  #lastId = ''
  #isClosed = false
  #disconnectsWithin: number
  readonly #run: Promise<void>

  /** @param url of the site; a function for several sites, of which each connection has one */
  constructor(
    readonly url: () => string,
    readonly options: CopyOptions,
  ) {
    this.#disconnectsWithin = options.disconnectsWithin ?? Number.POSITIVE_INFINITY
    this.#run = this.#keepOpen()
  }

  /** Whether the subscription is open. */
  get isOpen(): boolean {
    return this.#reader !== undefined && !this.#reader.isClosed
  }

  /** The records as a text that can be compared. */
  get text(): string {
    return textOf([...this.records.values()])
  }

  /** Lets the connection stay open from now on. */
  settle(): void {
    this.#disconnectsWithin = Number.POSITIVE_INFINITY
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#reader?.close()
    await this.#run
  }

  /** The list as GET returns it now, as a text. */
  async read(): Promise<string> {
    return textOf(await this.#list())
  }

  async #keepOpen(): Promise<void> {
    while (!this.#isClosed) {
      await this.#connect().catch(() => sleep(20))
      await sleep(Math.random() * 20)
    }
  }

  async #connect(): Promise<void> {
    const { path, user } = this.options
    const resumes = this.#lastId !== '' && Math.random() < 0.9
    const headers = { 'X-User': user, ...(resumes && { 'Last-Event-ID': this.#lastId }) }
    const reader = await EventReader.open(`${this.url()}/api/${path}`, headers)
    if (reader.status !== 200) {
      this.refusals.push(reader.status)
      reader.close()
      return
    }
    this.connections += 1
    this.#reader = reader
    const take = (): void => {
      for (const event of reader.events.splice(0)) this.#receive(event)
    }
    reader.response.on('data', take)
    take()
    const start = performance.now()
    const limit = Math.random()
    while (!reader.isClosed && !this.#isClosed) {
      await sleep(5)
      if (performance.now() - start > limit * this.#disconnectsWithin) break
    }
    reader.response.off('data', take)
    reader.close()
  }

  #receive(event: LiveEvent): void {
    const { id, name, data } = event
    this.#lastId = id
    this.events.push(event)
    if (name === 'reset') {
      this.records.clear()
      for (const record of data as readonly LiveRecord[]) this.records.set(record.id, record)
    } else {
      const record = data as LiveRecord
      if (name === 'gone') this.records.delete(record.id)
      else this.records.set(record.id, record)
    }
  }

  async #list(): Promise<readonly LiveRecord[]> {
    const { path, user } = this.options
    for (;;) {
      const line = `GET /api/${path}${path.includes('?') ? '&' : '?'}limit=1000`
      const reply: Reply | undefined = await send(this.url(), line, { headers: { 'X-User': user } }).catch(
        () => undefined,
      )
      if (reply?.status === 200) return (reply.json() as { objects: LiveRecord[] }).objects
      if (this.#isClosed) return []
      await sleep(20)
    }
  }
}

function textOf(records: readonly LiveRecord[]): string {
  return JSON.stringify(records.toSorted((a, b) => a.id - b.id))
}
