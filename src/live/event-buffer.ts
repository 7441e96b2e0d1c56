import { randomBytes } from 'node:crypto'

/** Maximum size of the events that are kept for clients that connect again, in bytes. */
const maxBytes = 64 * 1024

/** The last events of a live list, with their ids, for clients that connect again (HTML Standard, Server-sent events). */
export class EventBuffer {
  /** Start of all ids, by which ids of other buffers are recognized: those before a restart, or of another process. */
  readonly #idPrefix = randomBytes(6).toString('base64url')
  readonly #events: { readonly number: number; readonly bytes: Buffer }[] = []
  #bytes = 0
  /** Number of the last event. */
  #number = 0

  /** Adds an event. @param data JSON @returns its text */
  add(name: string, data: string): Buffer {
    this.#number += 1
    const bytes = this.textOf(name, data)
    this.#events.push({ number: this.#number, bytes })
    this.#bytes += bytes.length
    while (this.#bytes > maxBytes) this.#bytes -= this.#events.shift()?.bytes.length ?? 0
    return bytes
  }

  /** Removes all events. The number is increased, so that clients that connect again get the whole list. */
  clear(): void {
    this.#number += 1
    this.#events.length = 0
    this.#bytes = 0
  }

  /**
   * The events that a client has missed.
   * @param id id of the last event that the client has received
   * @returns undefined if some of the missed events were removed, or if the id is unknown
   */
  after(id: string | undefined): readonly Buffer[] | undefined {
    const [prefix, text] = id?.split('.') ?? []
    const last = Number(text)
    if (prefix !== this.#idPrefix || !Number.isInteger(last) || last > this.#number) return undefined
    if (last < this.#number - this.#events.length) return undefined
    return this.#events.filter(({ number }) => number > last).map(({ bytes }) => bytes)
  }

  /** Text of an event. Its id is the id of the last event in the buffer. */
  textOf(name: string, data: string): Buffer {
    return Buffer.from(`id: ${this.#idPrefix}.${this.#number}\nevent: ${name}\ndata: ${data}\n\n`)
  }
}
