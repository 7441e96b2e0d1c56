import { ClientCounts } from '../access/client-counts'
import { unavailable } from '../errors'
import { type RecordStream, slowRate } from '../response/record-stream'
import { RunningWork } from './running-work'

interface StreamedList {
  readonly client: string
  readonly body: RecordStream
  readonly done: Promise<void>
}

/**
 * Limits the number of streamed lists that run at the same time. If it is reached, a list whose client is slow is ended for a
 * client that has fewer lists: otherwise, a few slow clients could keep all others from exporting.
 */
export class StreamedLists {
  readonly #work: RunningWork
  /** The lists that have not been ended, the oldest first. */
  readonly #running = new Set<StreamedList>()
  /** The requests for which a list is being ended. Each has the place of this list soon. */
  readonly #taking = new ClientCounts()

  /** @param max maximum number at the same time */
  constructor(max: number) {
    this.#work = new RunningWork(max, { plural: 'streamed lists', limit: 'limits.streams' })
  }

  /**
   * Sends a list.
   * @param client name of the client
   * @param send sends the records to `body`
   * @throws {ApiError} `unavailable` if too many lists are running
   */
  async run(client: string, body: RecordStream, send: () => Promise<void>): Promise<void> {
    if (this.#work.isFull) await this.#endSlowOne(client)
    const list = { client, body, done: this.#work.run(client, send) }
    this.#running.add(list)
    await list.done.finally(() => this.#running.delete(list))
  }

  /** Ends a list whose client is slow and has more lists than this client, and waits until its connection is free. */
  async #endSlowOne(client: string): Promise<void> {
    const own = this.#work.of(client) + this.#taking.of(client)
    const slow = [...this.#running].find((list) => list.body.isSlow && this.#work.of(list.client) > own)
    if (slow === undefined) return
    this.#running.delete(slow)
    const rate = `${slowRate} bytes per second`
    slow.body.abort(
      unavailable(`its client receives less than ${rate}, and another client needs its place (limits.streams)`),
    )
    this.#taking.add(client)
    await slow.done.catch(() => undefined)
    this.#taking.remove(client)
  }
}
