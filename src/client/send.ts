import { authorizedFetch, authorizeWith } from './authorization.ts'
import { errorOf, ResourceError } from './error.ts'
import type { KeyOptions, WriteOptions } from './request-options.ts'
import type { ClientOptions } from './types.ts'

/** Sends one request. @throws {ResourceError} for a response whose status is not 2xx */
export type Send = (method: string, url: string, values?: unknown, options?: SendOptions) => Promise<Response>

/** Options of one request. */
interface SendOptions extends WriteOptions, KeyOptions {
  /** Media type of the response. Default: JSON. */
  readonly accept?: string
  /** Value of the header `Last-Event-ID`. Default: the header is not sent. */
  readonly lastEventId?: string
}

/**
 * Builds the function that sends requests with the client's headers, and repeats them after a 503. Requests with an
 * `Idempotency-Key` are also repeated after a network error, and while the service is running the first one.
 */
export function buildSend({
  retries = 2,
  idempotencyKeys = false,
  fetch: fetchFunction = fetch,
  headers: own = {},
  ...credentials
}: ClientOptions): Send {
  const defaultHeaders = new Headers({ Accept: 'application/json' })
  for (const [name, value] of Object.entries(own)) defaultHeaders.set(name, value)
  const authorize = authorizeWith(credentials)
  const send = defaultHeaders.has('Authorization') ? fetchFunction : authorizedFetch(authorize, fetchFunction)
  return async (method, url, values, { signal, ifMatch, accept, lastEventId, idempotencyKey } = {}) => {
    const generated = idempotencyKeys && /^(POST|PATCH)$/.test(method) && crypto.randomUUID()
    const key = idempotencyKey ?? generated
    const headers = new Headers(defaultHeaders)
    if (accept !== undefined) headers.set('Accept', accept)
    if (values !== undefined) headers.set('Content-Type', 'application/json')
    if (ifMatch !== undefined) headers.set('If-Match', ifMatch)
    if (key) headers.set('Idempotency-Key', key)
    if (lastEventId) headers.set('Last-Event-ID', lastEventId)
    const body = values === undefined ? null : JSON.stringify(values, serializeBigInt)
    const sendOnce = async (): Promise<Response> => {
      const response = await send(url, { method, headers, body, signal: signal ?? null })
      // Reads the whole body: the connection may break before it is complete.
      if (key) await response.clone().arrayBuffer()
      return response
    }
    // A POST without a key is not repeated: it may have been executed although the response is 503.
    for (let retriesLeft = method === 'POST' && !key ? 0 : retries; ; retriesLeft--) {
      const mayRepeat = retriesLeft > 0
      const response = await sendOnce().catch((error: unknown) => {
        if (!key || !mayRepeat) throw error
      })
      if (response?.ok) return response
      let delayMs: number | undefined = networkErrorDelayMs
      if (response !== undefined) {
        const isTransient = response.status === 503 || (response.status === 409 && key)
        delayMs = isTransient && mayRepeat ? retryAfterMs(response) : undefined
        if (delayMs === undefined) throw await errorOf(response)
        await response.body?.cancel()
      }
      await sleep(delayMs, signal)
    }
  }
}

/** Delay after a network error, in milliseconds. */
const networkErrorDelayMs = 1000

/**
 * Replacer for `JSON.stringify`: a bigint beyond the safe integers becomes a string (specification: Values in JSON).
 */
function serializeBigInt(_: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}

/** ETags of the records that this client has returned. */
const etags = new WeakMap<object, string>()

/** ETag of a record that was read, created or updated, for `ifMatch`. Undefined for a record of a list. */
export function etagOf(record: object): string | undefined {
  return etags.get(record)
}

/** Reads the JSON of a response, if it has one. The caller states its type. @throws {ResourceError} see `parseJson` */
export async function readJson<Result>(response: Response): Promise<Result> {
  if (response.status === 204) return undefined as Result
  const json = parseJson(response, await response.text())
  keepEtag(json, response.headers.get('ETag'))
  return json as Result
}

/** Keeps the ETag of a record, if there is one, for {@link etagOf}. */
export function keepEtag(json: unknown, etag: string | null | undefined): void {
  if (etag && typeof json === 'object' && json !== null) etags.set(json, etag)
}

/**
 * @throws {ResourceError} if the text is not JSON, such as the HTML page that a web application serves for unknown
 * paths
 */
export function parseJson({ status, url }: Response, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ResourceError(status, undefined, `the response of ${url} is not JSON`)
  }
}

/** Maximum `Retry-After` for which a request is repeated, in milliseconds. If it is longer, the caller gets the error. */
const maxRetryAfterMs = 30_000

/** Delay of `Retry-After`, in milliseconds. @returns undefined if the header is missing, invalid or too long */
export function retryAfterMs({ headers }: Response): number | undefined {
  const text = headers.get('Retry-After') ?? ''
  const delayMs = /^\d+$/.test(text) ? Number(text) * 1000 : Math.max(0, Date.parse(text) - Date.now())
  return delayMs <= maxRetryAfterMs ? delayMs : undefined
}

/** Waits. @throws the signal's reason as soon as it is aborted */
export async function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, delayMs)
    signal?.addEventListener('abort', finish)
  })
  signal?.throwIfAborted()
}
