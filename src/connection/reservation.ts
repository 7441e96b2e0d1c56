/** Maximum time for which connections are reserved, in milliseconds. Others cannot use them meanwhile. */
const maxTime = 50
/** The pause after a reservation is so many times as long as the reservation. */
const pauseFactor = 4

/**
 * Reserves connections for a client that needs several free ones. Many other clients would use each connection that becomes free
 * at once. If too few become free in the time of the reservation, the others take long too, and use what is left to them.
 */
export class Reservation {
  #client: string | undefined
  #start = 0
  #nextStart = 0
  #timer: NodeJS.Timeout | undefined

  /** The client for which connections are reserved; undefined if there is none. */
  get client(): string | undefined {
    return this.#client
  }

  /** Whether a reservation may start: none does in the pause after another one. */
  get isPossible(): boolean {
    return this.#client === undefined && performance.now() >= this.#nextStart
  }

  /** @param onTimeout is called when the reservation ends because too few connections became free */
  start(client: string, onTimeout: () => void): void {
    this.#client = client
    this.#start = performance.now()
    this.#timer = setTimeout(() => {
      this.end()
      onTimeout()
    }, maxTime)
  }

  end(): void {
    if (this.#client === undefined) return
    clearTimeout(this.#timer)
    this.#client = undefined
    const now = performance.now()
    this.#nextStart = now + (now - this.#start) * pauseFactor
  }
}
