import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { username } from './data'

/** A body to send, its media type (JSON, if not given), and other headers. */
export interface Content {
  readonly body: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Client of a server with a token, on one connection. It counts requests and bytes of the responses. */
export class Client {
  requests = 0
  bytes = 0
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #token = ''

  private constructor(
    readonly origin: string,
    readonly child: ChildProcess,
  ) {}

  /** Starts a server of `main.ts` in a process, and logs in. */
  static async start(name: string, file: string): Promise<Client> {
    const env = { ...process.env, NODE_ENV: 'production', BENCH_SERVER: name, BENCH_DATABASE: file }
    const child = fork(`${__dirname}/main.js`, { env })
    const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
    const client = new Client(`http://127.0.0.1:${port}`, child)
    const body = new URLSearchParams({ username, password: username })
    client.#token = Object(await (await fetch(`${client.origin}/login`, { method: 'POST', body })).json()).access_token
    return client
  }

  get(path: string): Promise<string> {
    return this.send('GET', path)
  }

  /** @throws if the response is not a success */
  async send(method: string, path: string, content?: Content): Promise<string> {
    const headers = {
      Authorization: `Bearer ${this.#token}`,
      ...(content && { 'Content-Type': content.type ?? 'application/json' }),
      ...content?.headers,
    }
    const sent = request(this.origin + path, { method, agent: this.#agent, headers }).end(content?.body)
    const [response] = await once(sent, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (response.statusCode >= 300) throw new Error(`${path}: ${response.statusCode} ${body}`)
    this.requests++
    this.bytes += body.length
    return body.toString()
  }

  close(): void {
    this.#agent.destroy()
    this.child.disconnect()
  }
}
