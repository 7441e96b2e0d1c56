import { type Agent, createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { canariesIn } from './world/seed'

/** An answer as it came. */
export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON; throws for what is none. */
  readonly json: () => unknown
}

export interface SendOptions {
  /** A user whose password is the name. */
  readonly as?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A string or bytes go as they are, anything else as JSON with its type. */
  readonly body?: unknown
  /** Keeps connections, for a test of many requests. Default: a connection for each. */
  readonly agent?: Agent | undefined
}

/** The header of RFC 7617. */
export function basic(username: string, password = username): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

/**
 * Sends one request just as it is written, unlike `fetch`, which tidies paths.
 * @param line `GET /api/note/?score=5`
 */
export function send(url: string, line: string, { as, headers = {}, body, agent }: SendOptions = {}): Promise<Reply> {
  const [method = 'GET', path = '/'] = line.split(/ (.*)/s)
  const isRaw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
  const payload = isRaw ? body : JSON.stringify(body)
  const { hostname, port } = new URL(url)
  const all = {
    ...(isRaw ? {} : { 'Content-Type': 'application/json' }),
    ...(payload === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(payload)) }),
    ...(as === undefined ? {} : { Authorization: basic(as) }),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers: all, agent: agent ?? false }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const shown = canariesIn(text + JSON.stringify(incoming.headers))
        if (shown !== '') reject(new Error(`${line} shows ${shown}`))
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: () => JSON.parse(text) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(payload)
  })
}

/** Short forms for the API at a URL. Paths start behind `/api/`. */
export function apiOf(url: () => string): {
  readonly get: (path: string) => Promise<Reply>
  readonly post: (path: string, body: unknown) => Promise<Reply>
  readonly put: (path: string, body: unknown) => Promise<Reply>
  /** The ids of a list; throws for what is none. */
  readonly ids: (path: string) => Promise<readonly unknown[]>
} {
  const ask = (method: string, path: string, body?: unknown): Promise<Reply> =>
    send(url(), `${method} /api/${path}`, { body })
  return {
    get: (path) => ask('GET', path),
    post: (path, body) => ask('POST', `${path}/`, body),
    put: (path, body) => ask('PUT', `${path}/`, body),
    ids: async (path) => {
      const reply = await ask('GET', path)
      if (reply.status !== 200) throw new Error(reply.text)
      return (reply.json() as { objects: { id: unknown }[] }).objects.map(({ id }) => id)
    },
  }
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}
