/** Maximum time for which connections are reserved, in milliseconds. Others cannot use them meanwhile. */
const maxTime = 50
/** Ratio of the pause after a reservation to its duration: connections are reserved for at most a fifth of the time. */
const pauseFactor = 4

/**
 * Reserves connections for a client that needs several free ones. Otherwise other clients would use each connection as soon as it
 * becomes free. A reservation is short: if the statements of the other clients take longer, connections must not stay unused meanwhile.
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
