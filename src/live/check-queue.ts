import { nextPoll } from '../timers'

/** Number of items that are checked at the same time. */
const concurrentChecks = 8

/** Checks items in the order in which they were added, a few at the same time. */
export class CheckQueue<Item> {
  readonly #waiting = new Set<Item>()
  #running = 0

  /** @param check never rejects */
  constructor(readonly check: (item: Item) => Promise<void>) {}

  /**
   * Adds items, unless they wait already. An item that is being checked is checked again: the running check may have read
   * what was true before.
   */
  add(items: Iterable<Item>): void {
    for (const item of items) this.#waiting.add(item)
    while (this.#running < concurrentChecks && this.#waiting.size > 0) void this.#checkWaiting()
  }

  async #checkWaiting(): Promise<void> {
    this.#running += 1
    for (const item of this.#waiting) {
      this.#waiting.delete(item)
      await this.check(item)
      // Lets other requests run: the check of an anonymous client may use neither the database nor a timer.
      await nextPoll()
    }
    this.#running -= 1
  }
}
