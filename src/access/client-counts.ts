/** A count for each client, for example of its subscriptions, connections or bytes. */
export class ClientCounts {
  readonly #counts = new Map<string, number>()
  #total = 0

  /** The clients whose count is above 0. */
  get clients(): Iterable<string> {
    return this.#counts.keys()
  }

  /** Number of clients whose count is above 0. */
  get size(): number {
    return this.#counts.size
  }

  get isEmpty(): boolean {
    return this.size === 0
  }

  /** Sum of the counts of all clients. */
  get total(): number {
    return this.#total
  }

  of(client: string): number {
    return this.#counts.get(client) ?? 0
  }

  add(client: string, number = 1): void {
    this.#counts.set(client, this.of(client) + number)
    this.#total += number
  }

  remove(client: string, number = 1): void {
    const count = this.of(client)
    const left = Math.max(0, count - number)
    this.#total += left - count
    if (left > 0) this.#counts.set(client, left)
    else this.#counts.delete(client)
  }
}
