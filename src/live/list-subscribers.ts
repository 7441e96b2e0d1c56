import { EventBuffer } from './event-buffer'
import type { EventStream } from './event-stream'
import type { ListEvent } from './list-records'

/** The subscribers of a live list, and the events that they receive. */
export class ListSubscribers {
  readonly #streams = new Set<EventStream>()
  /** The subscribers that receive the whole list when it is read next, and until then no events. */
  readonly #joining = new Set<EventStream>()
  readonly #sent = new EventBuffer()

  /** The subscribers that wait for the whole list. */
  get joining(): readonly EventStream[] {
    return [...this.#joining]
  }

  /** Whether some subscribers wait for the whole list. */
  get areJoining(): boolean {
    return this.#joining.size > 0
  }

  /**
   * Adds a subscriber, and sends the events that it has missed.
   * @param lastId the header `Last-Event-ID`
   * @returns false if these events are not known, so that it waits for the whole list
   */
  add(stream: EventStream, lastId: string | undefined): boolean {
    const missed = this.#sent.after(lastId)
    this.#streams.add(stream)
    stream.send(Buffer.from('retry: 1000\n\n'))
    if (missed === undefined) this.#joining.add(stream)
    // Together: a stream sends one buffer of any size, but ends if further ones exceed the maximum for a slow client.
    else if (missed.length > 0) stream.send(Buffer.concat(missed))
    return missed !== undefined
  }

  remove(stream: EventStream): void {
    this.#streams.delete(stream)
    this.#joining.delete(stream)
  }

  /** Ends all subscriptions. @param error of the list; undefined if the clients may connect again */
  end(error: unknown): void {
    for (const stream of this.#streams) error === undefined ? stream.finish() : stream.fail(error)
  }

  /** Sends the events of one read together: a client cannot receive anything in between. */
  sendEvents(events: readonly ListEvent[]): void {
    if (events.length === 0) return
    const bytes = Buffer.concat(events.map(({ name, data }) => this.#sent.add(name, data)))
    for (const stream of this.#streams) {
      if (!this.#joining.has(stream)) stream.send(bytes, Math.ceil(bytes.length / this.#streams.size))
    }
  }

  /** Sends the whole list to some of the subscribers that wait for it. @param records JSON of each record */
  sendWhole(streams: readonly EventStream[], records: readonly string[]): void {
    if (streams.length === 0) return
    const bytes = this.#sent.textOf('reset', `[${records.join(',')}]`)
    // All streams have the same bytes, which are in memory once.
    const share = Math.ceil(bytes.length / streams.length)
    for (const stream of streams) if (this.#joining.delete(stream)) stream.sendWhole(bytes, share)
  }

  /** Makes all subscribers wait for the whole list, which replaces very many events. */
  joinAll(): void {
    this.#sent.clear()
    for (const stream of this.#streams) this.#joining.add(stream)
  }
}
