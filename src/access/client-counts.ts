/** Number of subscriptions, of other work, of bytes, or of records, of each client. */
export class ClientCounts {
  readonly #counts = new Map<string, number>()

  /** The clients with a number above 0. */
  get clients(): Iterable<string> {
    return this.#counts.keys()
  }

  /** Number of clients with a number above 0. */
  get size(): number {
    return this.#counts.size
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0
  }

  /** The number of all clients. */
  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  of(client: string): number {
    return this.#counts.get(client) ?? 0
  }

  add(client: string, number = 1): void {
    this.#counts.set(client, this.of(client) + number)
  }

  remove(client: string, number = 1): void {
    const left = this.of(client) - number
    if (left > 0) this.#counts.set(client, left)
    else this.#counts.delete(client)
  }
}
