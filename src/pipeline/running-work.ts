import { ClientCounts } from '../access/client-counts'
import { unavailable } from '../errors'

/** Names of one kind of work, for messages. */
interface WorkNames {
  /** Plural of the work, for messages: "streamed lists". */
  readonly plural: string
  /** The limit: "limits.streams". */
  readonly limit: string
}

/**
 * Counts the running work of one kind, such as streamed lists, and limits its number. One client can have half of it, so that a
 * slow client does not keep all others from it.
 */
export class RunningWork {
  readonly #max: number
  readonly #names: WorkNames
  readonly #clients = new ClientCounts()

  /** @param max maximum number at the same time */
  constructor(max: number, names: WorkNames) {
    this.#max = max
    this.#names = names
  }

  /**
   * Counts `work` while it runs.
   * @param client name of the client
   * @throws {ApiError} `unavailable` if there is too much
   */
  async run<T>(client: string, work: () => Promise<T>): Promise<T> {
    this.requirePlace(client)
    this.#clients.add(client)
    try {
      return await work()
    } finally {
      this.#clients.remove(client)
    }
  }

  get isFull(): boolean {
    return this.#clients.total >= this.#max
  }

  /** Amount of running work of a client. */
  of(client: string): number {
    return this.#clients.of(client)
  }

  /** Requires that {@link run} would accept work of a client now. @throws {ApiError} `unavailable` */
  requirePlace(client: string): void {
    const { plural, limit } = this.#names
    if (this.isFull) throw unavailable(`too many ${plural} are running: ${this.#clients.total} (${limit}); try again`)
    const own = this.of(client)
    if (own >= Math.ceil(this.#max / 2)) {
      throw unavailable(`too many ${plural} are running for you: ${own}, half of ${limit}; try again`)
    }
  }
}
