import { basic } from './basic.ts'
import { errorOf, ResourceError } from './error.ts'
import type { ClientOptions, WriteOptions } from './types.ts'

/** Sends one request, and reads JSON where there is any; its caller knows of which type. */
export type Send = <Answer>(method: string, url: string, values?: unknown, options?: WriteOptions) => Promise<Answer>

export function buildSend({ retries = 2, fetch: ask = fetch, ...options }: ClientOptions): Send {
  const always = headersOf(options)
  return async <Answer>(method: string, url: string, values?: unknown, { signal, ifMatch }: WriteOptions = {}) => {
    const headers = new Headers(always)
    if (values !== undefined) headers.set('Content-Type', 'application/json')
    if (ifMatch !== undefined) headers.set('If-Match', ifMatch)
    const body = values === undefined ? null : JSON.stringify(values, jsonOf)
    // A POST may have been carried out, though it was answered with 503.
    for (let left = method === 'POST' ? 0 : retries; ; left--) {
      const response = await ask(url, { method, headers, body, signal: signal ?? null })
      if (response.ok) return (await read(response)) as Answer
      const wait = response.status === 503 && left > 0 ? waitOf(response) : undefined
      if (wait === undefined) throw await errorOf(response)
      await response.body?.cancel()
      await pause(wait, signal)
    }
  }
}

function headersOf({ username, password = '', headers = {} }: ClientOptions): Headers {
  const all = new Headers({ Accept: 'application/json' })
  if (username !== undefined) all.set('Authorization', basic(username, password))
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  return all
}

/** Integers that no number holds are texts (specification: Values in JSON). */
function jsonOf(_: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}

const tags = new WeakMap<object, string>()

/** The ETag with which a record was read, created or updated, for `ifMatch`; undefined for a record of a list. */
export function etagOf(record: object): string | undefined {
  return tags.get(record)
}

/** @throws {ResourceError} for what is no JSON, as the page that a web application shows for every path it does not know */
async function read(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  const text = await response.text()
  const tag = response.headers.get('ETag')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new ResourceError(response.status, undefined, `${response.url} answered with what is no JSON`)
  }
  if (tag !== null && typeof json === 'object' && json !== null) tags.set(json, tag)
  return json
}

/** Longer than that nobody waits without knowing. */
const longestWait = 30_000

/** How long `Retry-After` says to wait, in milliseconds; undefined where it does not, or says too long. */
function waitOf({ headers }: Response): number | undefined {
  const text = headers.get('Retry-After') ?? ''
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Math.max(0, Date.parse(text) - Date.now())
  return wait <= longestWait ? wait : undefined
}

/** @throws the reason of the signal, once it is aborted */
async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve) => {
    const stop = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    const timer = setTimeout(stop, milliseconds)
    signal?.addEventListener('abort', stop)
  })
  signal?.throwIfAborted()
}
