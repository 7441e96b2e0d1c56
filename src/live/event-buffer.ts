import { randomBytes } from 'node:crypto'

/** Maximum size of the events that are kept for clients that connect again, in bytes. */
const maxBytes = 64 * 1024

/** The last events of a live list, with their ids, for clients that connect again (HTML Standard, Server-sent events). */
export class EventBuffer {
  readonly #session = randomBytes(6).toString('base64url')
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

  /** Removes all events. With a new number, no client can continue after one of them. */
  clear(): void {
    this.#number += 1
    this.#events.length = 0
    this.#bytes = 0
  }

  /** The events after one of them. @param id that of the last event of a client @returns undefined if they are not all known */
  after(id: string | undefined): readonly Buffer[] | undefined {
    const [session, text] = id?.split('.') ?? []
    const last = Number(text)
    if (session !== this.#session || !Number.isInteger(last) || last > this.#number) return undefined
    if (last < this.#number - this.#events.length) return undefined
    return this.#events.filter(({ number }) => number > last).map(({ bytes }) => bytes)
  }

  /** The text of an event with the id of the last one. */
  textOf(name: string, data: string): Buffer {
    return Buffer.from(`id: ${this.#session}.${this.#number}\nevent: ${name}\ndata: ${data}\n\n`)
  }
}
