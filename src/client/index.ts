import { type BuildOperations, sendBatch } from './batch.ts'
import { type QueryOptions, queryOf } from './query.ts'
import type { KeyOptions, RequestOptions } from './request-options.ts'
import { buildSend, readJson, type Send } from './send.ts'
import { ndjson, readRecords } from './stream.ts'
import type { AggregateOptions, Client, ClientOptions, Page, ResourceClient } from './types.ts'
import { watchList } from './watch.ts'
import type { ResourceWrites } from './write-types.ts'
import { itemUrl, writeMethods } from './writes.ts'

export type { Group } from './aggregates.ts'
export type { BatchOperations, Operation, RecordOperation, Reference, ResourceOperations } from './batch-types.ts'
export type { Excluding } from './entity.ts'
export { type FieldError, type Problem, ResourceError } from './error.ts'
export type { FiltersOf, NoSuchFilter } from './filters.ts'
export type { IncludesOf, NoSuchName } from './includes.ts'
export type { OrderingOf } from './ordering.ts'
export type { RecordOf, Selected, ValuesOf } from './records.ts'
export type {
  IncludingOptions,
  KeyOptions,
  MatchingOptions,
  RequestOptions,
  Selection,
  UpsertOptions,
  WriteOptions,
} from './request-options.ts'
export { etagOf } from './send.ts'
export type {
  AggregateOptions,
  Client,
  ClientCredentials,
  ClientOptions,
  ClientSettings,
  ListOptions,
  Page,
  ResourceClient,
  StreamOptions,
  Token,
} from './types.ts'
export type { ResourceWrites, Upserted, UpsertedMany } from './write-types.ts'

/**
 * Creates a client for the resources of a service, typed by their entities. `import type` of the entities is enough; no
 * code is generated.
 * @param baseUrl URL of the mount: `https://example.org/api`, or `/api` in a browser
 * @example
 * const api = createClient<{ city: City }>('https://example.org/api')
 * const { objects } = await api.city.list({ country__region: 'Europe' }, { ordering: '-population', limit: 5 })
 */
export function createClient<Resources>(baseUrl: string, options: ClientOptions = {}): Client<Resources> {
  const send = buildSend(options)
  const base = baseUrl.replace(/\/+$/, '')
  const batch = (build: BuildOperations, batchOptions?: RequestOptions & KeyOptions): Promise<unknown> =>
    sendBatch(base, send, build, batchOptions)
  return new Proxy({} as Client<Resources>, {
    get: (_, name) => {
      if (name === '$batch') return batch
      return typeof name === 'string' ? resourceClient(`${base}/${name}/`, send) : undefined
    },
  })
}

/** Client of one resource. It is not typed here: {@link Client} has the types. */
function resourceClient(collection: string, send: Send): ResourceClient<unknown> {
  const get = async <Result>(url: string, options: RequestOptions): Promise<Result> =>
    readJson(await send('GET', url, undefined, options))
  const list = (query: string, options: RequestOptions): Promise<Page<never>> => get(collection + query, options)
  async function* all(filters: object = {}, options: QueryOptions = {}): AsyncGenerator<never, void, undefined> {
    for (let query = queryOf(filters, options); ; ) {
      const { meta, objects } = await list(query, options)
      yield* objects
      if (meta.next === '') return
      // Only the query of the link is used: behind a proxy, the service may have another path than the client.
      query = meta.next.slice(meta.next.indexOf('?'))
    }
  }
  return {
    list: async (filters: object = {}, options: QueryOptions = {}) => list(queryOf(filters, options), options),
    all,
    watch: (filters: object = {}, options: QueryOptions = {}) => watchList(send, collection, all, filters, options),
    async *stream(filters: object = {}, options: QueryOptions = {}) {
      const url = collection + queryOf(filters, options)
      yield* readRecords(await send('GET', url, undefined, { ...options, accept: ndjson }))
    },
    aggregate: async (filters: object, options: AggregateOptions<string, string, object>) =>
      list(queryOf(filters, options), options),
    get: async (id, options: QueryOptions = {}) => get(itemUrl(collection, id) + queryOf({}, options), options),
    ...(writeMethods(collection, async (build) => {
      const { method, url, values, options, read } = build()
      const response = await send(method, url, values, options)
      return read(await readJson(response), response.status)
    }) as unknown as ResourceWrites<unknown, unknown>),
  }
}
