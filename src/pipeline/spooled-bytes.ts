import { ClientCounts } from '../access/client-counts'
import { unavailable } from '../errors'
import type { Limits } from '../request/limits'

/**
 * Counts the received bytes of imports until they are freed, and limits them to the size of all imports that may run at the same
 * time, for one client to half of them. A client that sends its import slowly only uses up bytes that it has sent: its import
 * does not count as running yet.
 */
export class SpooledBytes {
  readonly #max: number
  readonly #maxOfClient: number
  readonly #clients = new ClientCounts()

  constructor({ imports, importBytes }: Limits) {
    this.#max = imports * importBytes
    this.#maxOfClient = Math.ceil(imports / 2) * importBytes
  }

  /** @throws {ApiError} `unavailable` if there are too many */
  add(client: string, bytes: number): void {
    const { total } = this.#clients
    const isTooMuch = total + bytes > this.#max || this.#clients.of(client) + bytes > this.#maxOfClient
    if (isTooMuch) throw unavailable('the imports that are being received are too large together; try again')
    this.#clients.add(client, bytes)
  }

  remove(client: string, bytes: number): void {
    this.#clients.remove(client, bytes)
  }
}
