import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'

/** An event of a live list. */
export interface LiveEvent {
  readonly id: string
  readonly name: string
  readonly data: unknown
}

/** A client that reads the events of a live list. */
export class EventReader {
  readonly events: LiveEvent[] = []
  comments = 0
  isClosed = false
  lastId = ''
  /** Everything that was received. */
  body = ''
  #text = ''

  private constructor(
    readonly outgoing: ClientRequest,
    readonly response: IncomingMessage,
  ) {
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#read(text))
    response.on('close', () => {
      this.isClosed = true
    })
    response.on('error', () => undefined)
  }

  /** Subscribes. @param url of the list or item */
  static open(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
    return new Promise((resolve, reject) => {
      const outgoing = get(url, { agent: false, headers: { Accept: 'text/event-stream', ...headers } }, (response) =>
        resolve(new EventReader(outgoing, response)),
      )
      outgoing.on('error', reject)
    })
  }

  get status(): number {
    return this.response.statusCode ?? 0
  }

  /** Waits for more events, and removes and returns them as `[name, data]`. */
  async take(count: number, milliseconds = 20_000): Promise<readonly (readonly [string, unknown])[]> {
    const end = Date.now() + milliseconds
    while (this.events.length < count && Date.now() < end) await setTimeout(5)
    return this.events.splice(0).map(({ name, data }) => [name, data] as const)
  }

  /** Waits a moment in which no event may arrive. */
  async takeNone(milliseconds = 150): Promise<readonly unknown[]> {
    await setTimeout(milliseconds)
    return this.events.splice(0).map(({ name, data }) => [name, data])
  }

  /** Waits until a text was received. */
  async waitFor(text: string, milliseconds = 20_000): Promise<void> {
    const end = Date.now() + milliseconds
    while (!this.body.includes(text)) {
      if (Date.now() > end) throw new Error(`${text} was not received in time, but ${this.body}`)
      await setTimeout(2)
    }
  }

  async waitForClose(milliseconds = 20_000): Promise<void> {
    const end = Date.now() + milliseconds
    while (!this.isClosed) {
      if (Date.now() > end) throw new Error('the stream has not ended in time')
      await setTimeout(5)
    }
  }

  close(): void {
    this.outgoing.destroy()
  }

  #read(text: string): void {
    this.body += text
    this.#text += text
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      const lines = this.#text.slice(0, end).split('\n')
      this.#text = this.#text.slice(end + 2)
      const fieldOf = (name: string): string =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
      if (lines.every((line) => line.startsWith(':'))) this.comments += 1
      if (fieldOf('event') === '') continue
      this.lastId = fieldOf('id')
      this.events.push({ id: this.lastId, name: fieldOf('event'), data: JSON.parse(fieldOf('data')) })
    }
  }
}
