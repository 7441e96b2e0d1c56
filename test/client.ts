import { type Agent, createServer, type IncomingHttpHeaders, request } from 'node:http'
import { canariesIn } from './world/seed'

/** An HTTP response. */
export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Parses the body as JSON; throws a SyntaxError if it is not JSON. */
  readonly json: () => unknown
}

/** Options of a request. */
export interface SendOptions {
  /** Name of a user whose password is the same as the name. */
  readonly as?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Strings and buffers are sent unchanged, other values as JSON with its content type. */
  readonly body?: unknown
  /** Keeps connections alive, for tests with many requests. Default: one connection per request. */
  readonly agent?: Agent | undefined
}

/** Value of the `Authorization` header for basic authentication (RFC 7617). */
export function basic(username: string, password = username): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

/**
 * Sends one request without normalizing its path, unlike `fetch`.
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

/** A response as text, without its `Date` header, to compare it with another one. */
export const textWithoutDate = ({ status, headers: { date, ...headers }, text }: Reply): string =>
  [status, ...Object.entries(headers).map((header) => header.join(': ')), '', text].join('\n')

/** Shorthands for requests to the API at a URL. Paths are relative to `/api/`. */
export function apiOf(url: () => string): {
  readonly get: (path: string) => Promise<Reply>
  readonly post: (path: string, body: unknown) => Promise<Reply>
  readonly put: (path: string, body: unknown) => Promise<Reply>
  /** The ids of the records in a list; throws for any status but 200. */
  readonly ids: (path: string) => Promise<readonly unknown[]>
} {
  const requestApi = (method: string, path: string, body?: unknown): Promise<Reply> =>
    send(url(), `${method} /api/${path}`, { body })
  return {
    get: (path) => requestApi('GET', path),
    post: (path, body) => requestApi('POST', `${path}/`, body),
    put: (path, body) => requestApi('PUT', `${path}/`, body),
    ids: async (path) => {
      const reply = await requestApi('GET', path)
      if (reply.status !== 200) throw new Error(reply.text)
      return (reply.json() as { objects: { id: unknown }[] }).objects.map(({ id }) => id)
    },
  }
}

/**
 * Finds a TCP port that is not in use, for a process that is told its port. Operating systems choose the port of
 * `listen(0)` and of connections from 32768 (Linux) or 49152, so that only lower ports stay free until the process
 * uses them. Each worker of Jest has ports of its own.
 */
export async function freePort(): Promise<number> {
  const first = 11_000 + 1_000 * (Number(process.env['JEST_WORKER_ID'] ?? 1) % 20)
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const port = first + ((process.pid + nextPort++) % 1_000)
    if (await isFree(port)) return port
  }
  throw new Error(`all ports from ${first} to ${first + 999} are in use`)
}
let nextPort = 0

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
