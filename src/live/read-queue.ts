import { setImmediate } from 'node:timers/promises'
import type { ClientCounts } from '../access/client-counts'
import { pause } from '../connection/pauses'

/** A list that can wait for its next read. */
export interface QueuedList {
  readonly clients: ClientCounts
  /** Whether the next read is of all records. */
  readonly readsAll: boolean
  readonly read: () => Promise<void>
}

/** Number of lists that read the database at the same time. */
const concurrentReads = 2

/**
 * Reads the lists that have changed, in turn for each client. A client has at most one running read, so that the lists of
 * others do not wait for all lists of a client with many slow ones. A list of several clients is read when it is the turn of
 * any of them. A list without clients waits until a client joins it.
 */
export class ReadQueue {
  /** The lists that wait for a read. */
  readonly #waiting = new Set<QueuedList>()
  /** The waiting lists of each client that has any. The first client has the next turn. */
  readonly #listsByClient = new Map<string, Set<QueuedList>>()
  /** The clients in whose turns a list is being read. */
  readonly #reading = new Set<string>()

  /** Adds a list, unless it waits already. */
  add(list: QueuedList): void {
    this.#waiting.add(list)
    for (const client of list.clients.clients) this.#addFor(client, list)
    this.#startReads()
  }

  /** Removes a list. */
  remove(list: QueuedList): void {
    this.#waiting.delete(list)
    for (const client of list.clients.clients) this.#removeFor(client, list)
  }

  /** Must be called when a client has subscribed to a list. */
  join(list: QueuedList, client: string): void {
    if (!this.#waiting.has(list)) return
    this.#addFor(client, list)
    this.#startReads()
  }

  /** Must be called when a client has no subscription to a list any more. */
  leave(list: QueuedList, client: string): void {
    this.#removeFor(client, list)
  }

  #addFor(client: string, list: QueuedList): void {
    const lists = this.#listsByClient.get(client) ?? new Set()
    this.#listsByClient.set(client, lists.add(list))
  }

  #removeFor(client: string, list: QueuedList): void {
    const lists = this.#listsByClient.get(client)
    lists?.delete(list)
    if (lists?.size === 0) this.#listsByClient.delete(client)
  }

  #startReads(): void {
    while (this.#reading.size < concurrentReads) {
      const next = this.#takeNext()
      if (next === undefined) return
      this.#reading.add(next.client)
      void this.#read(next.list, next.client)
    }
  }

  /** Removes the next list, and returns it with the client whose turn it is. */
  #takeNext(): { readonly list: QueuedList; readonly client: string } | undefined {
    for (const [client, lists] of this.#listsByClient) {
      if (this.#reading.has(client)) continue
      const waiting = [...lists]
      // Reads of some records are short.
      const list = waiting.find(({ readsAll }) => !readsAll) ?? waiting[0]
      if (list === undefined) continue
      // The next turn of the client is after those of all others.
      this.#listsByClient.delete(client)
      this.#listsByClient.set(client, lists)
      this.remove(list)
      return { list, client }
    }
    return undefined
  }

  async #read(list: QueuedList, client: string): Promise<void> {
    // The event loop polls between the two: clients that subscribe at nearly the same time share a read. Then many reads may start
    // together.
    await setImmediate()
    await setImmediate()
    await pause(undefined)
    await list.read().catch(() => undefined)
    this.#reading.delete(client)
    this.#startReads()
  }
}
