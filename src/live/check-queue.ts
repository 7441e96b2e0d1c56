import { pause } from '../connection/pauses'

/** An item that can wait for a check. */
export interface CheckedItem {
  /** Identifies the user, or the network address of an anonymous client. */
  readonly client: string
}

/** Number of items that are checked at the same time. */
const concurrentChecks = 8

/**
 * Checks items in the order in which they were added, a few at the same time. A client has at most one running check: checks
 * of a client that take long do not delay those of others.
 */
export class CheckQueue<Item extends CheckedItem> {
  readonly #waiting = new Set<Item>()
  /** The clients that are being checked. */
  readonly #checking = new Set<string>()

  /** @param check never rejects */
  constructor(readonly check: (item: Item) => Promise<void>) {}

  /**
   * Adds items, unless they wait already. An item that is being checked is checked again: the running check may have read
   * what was true before.
   */
  add(items: Iterable<Item>): void {
    for (const item of items) this.#waiting.add(item)
    this.#startChecks()
  }

  #startChecks(): void {
    for (const item of this.#waiting) {
      if (this.#checking.size >= concurrentChecks) return
      if (this.#checking.has(item.client)) continue
      this.#waiting.delete(item)
      this.#checking.add(item.client)
      void this.#check(item)
    }
  }

  async #check(item: Item): Promise<void> {
    await this.check(item)
    // The check of an anonymous client may use neither the database nor a timer: many of them would block the event loop.
    await pause(undefined)
    this.#checking.delete(item.client)
    this.#startChecks()
  }
}
