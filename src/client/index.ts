import { errorOf } from './error.ts'
import { queryOf } from './query.ts'
import type { FiltersOf, OrderingOf, RecordOf, ValuesOf } from './types.ts'

export { type FieldError, type Problem, ResourceError } from './error.ts'
export type { Excluding, FiltersOf, OrderingOf, RecordOf, ValuesOf } from './types.ts'

/** How a client asks. */
export interface ClientOptions {
  /** Of HTTP Basic. */
  readonly username?: string
  readonly password?: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** How often a request that is answered with 503 is sent again, but for a POST, which might be done twice. Default: 2. */
  readonly retries?: number
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch
}

/** Of one request. */
export interface RequestOptions {
  /** Aborts it. */
  readonly signal?: AbortSignal
}

/** Of a list. */
export interface ListOptions<Resource> extends RequestOptions {
  /** The first key first. Default: the order of the ids. */
  readonly ordering?: OrderingOf<Resource> | readonly OrderingOf<Resource>[]
  /** Records of a page. Default: the service's, 20. */
  readonly limit?: number
  /** The first is 1. */
  readonly page?: number
  /** Empty for the first page of keyset paging, which costs the same however deep it gets. */
  readonly after?: string
}

/** Of a write. */
export interface WriteOptions extends RequestOptions {
  /** Only where the record still has this ETag: see {@link etagOf}. */
  readonly ifMatch?: string
}

/** One page of a list (spec.md, Collection envelope). */
export interface Page<Item> {
  readonly meta: {
    readonly model: string
    readonly page: number
    /** Path of that page; empty where there is none. */
    readonly next: string
    readonly previous: string
  }
  readonly objects: readonly Item[]
}

/** What can be done with one resource. Every method throws {@link ResourceError} for an answer that is no success. */
export interface ResourceClient<Resource> {
  readonly list: (filters?: FiltersOf<Resource>, options?: ListOptions<Resource>) => Promise<Page<RecordOf<Resource>>>
  /** Every record of a list, page by page. */
  readonly all: (
    filters?: FiltersOf<Resource>,
    options?: ListOptions<Resource>,
  ) => AsyncGenerator<RecordOf<Resource>, void, undefined>
  readonly get: (id: string | number, options?: RequestOptions) => Promise<RecordOf<Resource>>
  readonly create: (values: ValuesOf<Resource>, options?: RequestOptions) => Promise<RecordOf<Resource>>
  /** Changes the fields that are given. */
  readonly update: (
    id: string | number,
    values: ValuesOf<Resource>,
    options?: WriteOptions,
  ) => Promise<RecordOf<Resource>>
  readonly delete: (id: string | number, options?: WriteOptions) => Promise<void>
}

/** By their names in the path. */
export type Client<Resources> = { readonly [Name in keyof Resources]: ResourceClient<Resources[Name]> }

/**
 * A client for the resources of a service, typed by their entities: `import type` is enough, nothing is generated.
 * @param baseUrl where the service is mounted: `https://example.org/api`
 * @example
 * const api = createClient<{ city: City }>('https://example.org/api')
 * const { objects } = await api.city.list({ country__region: 'Europe' }, { ordering: '-population', limit: 5 })
 */
export function createClient<Resources>(baseUrl: string, options: ClientOptions = {}): Client<Resources> {
  const send = buildSend(options)
  const base = baseUrl.replace(/\/+$/, '')
  const clients = new Map<string, ResourceClient<unknown>>()
  return new Proxy({} as Client<Resources>, {
    get: (_, name) => {
      // An awaited client is no promise.
      if (typeof name !== 'string' || name === 'then') return undefined
      const client = clients.get(name) ?? resourceClient(`${base}/${name}/`, send)
      clients.set(name, client)
      return client
    },
  })
}

const tags = new WeakMap<object, string>()

/** The ETag with which a record was read, created or updated, for `ifMatch`; undefined for a record of a list. */
export function etagOf(record: object): string | undefined {
  return tags.get(record)
}

/** Sends one request, and reads JSON where there is any. */
type Send = (method: string, url: string, values?: unknown, options?: WriteOptions) => Promise<unknown>

function resourceClient(collection: string, send: Send): ResourceClient<unknown> {
  const item = (id: string | number): string => `${collection}${encodeURIComponent(id)}/`
  const list = (query: string, signal?: AbortSignal): Promise<Page<object>> =>
    send('GET', collection + query, undefined, signal && { signal }) as Promise<Page<object>>
  return {
    list: (filters: unknown = {}, { signal, ...options }: ListOptions<unknown> = {}) =>
      list(queryOf(filters, options), signal) as Promise<Page<never>>,
    async *all(filters: unknown = {}, { signal, ...options }: ListOptions<unknown> = {}) {
      for (let query = queryOf(filters, options); ; ) {
        const { meta, objects } = await list(query, signal)
        yield* objects as readonly never[]
        if (meta.next === '') return
        // Its path is the one that the service knows, which may be another behind a proxy.
        query = meta.next.slice(meta.next.indexOf('?'))
      }
    },
    get: (id, options) => send('GET', item(id), undefined, options) as Promise<never>,
    create: (values, options) => send('POST', collection, values, options) as Promise<never>,
    update: (id, values, options) => send('PUT', item(id), values, options) as Promise<never>,
    delete: (id, options) => send('DELETE', item(id), undefined, options) as Promise<never>,
  }
}

function buildSend({ username, password = '', headers, retries = 2, fetch: ask = fetch }: ClientOptions): Send {
  const credentials = username === undefined ? {} : { Authorization: basic(`${username}:${password}`) }
  return async (method, url, values, { signal, ifMatch } = {}) => {
    const body = values === undefined ? undefined : JSON.stringify(values)
    const request: RequestInit = {
      method,
      headers: {
        Accept: 'application/json',
        ...credentials,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    }
    for (let left = method === 'POST' ? 0 : retries; ; left--) {
      const response = await ask(url, request)
      if (response.ok) return read(response)
      const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN)
      if (response.status !== 503 || left <= 0 || Number.isNaN(seconds)) throw await errorOf(response)
      await response.body?.cancel()
      await pause(seconds * 1000, signal)
    }
  }
}

async function read(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  const json: unknown = await response.json()
  const tag = response.headers.get('ETag')
  if (tag !== null && typeof json === 'object' && json !== null) tags.set(json, tag)
  return json
}

/** RFC 7617, in UTF-8. */
function basic(credentials: string): string {
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(credentials)))}`
}

/** @throws the reason of the signal, once it is aborted */
async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  let stop = (): void => {}
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    stop = () => {
      clearTimeout(timer)
      resolve()
    }
    signal?.addEventListener('abort', stop)
  })
  signal?.removeEventListener('abort', stop)
  signal?.throwIfAborted()
}
