/** Runs work with the same key one after the other, in the order of the calls. */
export class KeyedQueue {
  /** The last work of each key, as long as it is waiting or running. */
  readonly #last = new Map<string, Promise<unknown>>()

  get isEmpty(): boolean {
    return this.#last.size === 0
  }

  /** Whether work with this key is waiting or running. */
  has(key: string): boolean {
    return this.#last.has(key)
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#last.get(key)
    const running = previous === undefined ? work() : previous.then(work, work)
    this.#last.set(key, running)
    try {
      return await running
    } finally {
      if (this.#last.get(key) === running) this.#last.delete(key)
    }
  }
}
