import { ResourceError } from './error.ts'
import { type QueryOptions, queryOf } from './query.ts'
import { buildSend, readJson, type Send } from './send.ts'
import { ndjson, readRecords } from './stream.ts'
import type {
  AggregateOptions,
  Client,
  ClientOptions,
  Page,
  RequestOptions,
  ResourceClient,
  WriteOptions,
} from './types.ts'

export type { Group } from './aggregates.ts'
export type { Excluding } from './entity.ts'
export { type FieldError, type Problem, ResourceError } from './error.ts'
export type { FiltersOf, NoSuchFilter } from './filters.ts'
export type { IncludesOf, NoSuchName } from './includes.ts'
export type { OrderingOf } from './ordering.ts'
export type { RecordOf, Selected, ValuesOf } from './records.ts'
export { etagOf } from './send.ts'
export type {
  AggregateOptions,
  Client,
  ClientCredentials,
  ClientOptions,
  ClientSettings,
  IncludingOptions,
  ListOptions,
  Page,
  RequestOptions,
  ResourceClient,
  Selection,
  StreamOptions,
  Token,
  WriteOptions,
} from './types.ts'

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
  return new Proxy({} as Client<Resources>, {
    get: (_, name) => (typeof name === 'string' ? resourceClient(`${base}/${name}/`, send) : undefined),
  })
}

/** Client of one resource. It is not typed here: {@link Client} has the types. */
function resourceClient(collection: string, send: Send): ResourceClient<unknown> {
  const sendJson = async <Result>(
    method: string,
    url: string,
    values?: unknown,
    options?: WriteOptions,
  ): Promise<Result> => readJson(await send(method, url, values, options))
  const list = (query: string, options: RequestOptions): Promise<Page<never>> =>
    sendJson('GET', collection + query, undefined, options)
  const itemUrl = (id: string | number): string => `${collection}${segmentOf(String(id))}/`
  const includeQuery = ({ include }: QueryOptions): string => queryOf({}, { include })
  return {
    list: async (filters: object = {}, options: QueryOptions = {}) => list(queryOf(filters, options), options),
    async *all(filters: object = {}, options: QueryOptions = {}) {
      for (let query = queryOf(filters, options); ; ) {
        const { meta, objects } = await list(query, options)
        yield* objects
        if (meta.next === '') return
        // Only the query of the link is used: behind a proxy, the service may have another path than the client.
        query = meta.next.slice(meta.next.indexOf('?'))
      }
    },
    async *stream(filters: object = {}, options: QueryOptions = {}) {
      const url = collection + queryOf(filters, options)
      yield* readRecords(await send('GET', url, undefined, { ...options, accept: ndjson }))
    },
    aggregate: async (filters: object, options: AggregateOptions<string, string, object>) =>
      list(queryOf(filters, options), options),
    get: async (id, options: QueryOptions = {}) =>
      sendJson('GET', itemUrl(id) + queryOf({}, options), undefined, options),
    create: async (values, options = {}) => sendJson('POST', collection + includeQuery(options), values, options),
    update: async (id, values, options = {}) => sendJson('PUT', itemUrl(id) + includeQuery(options), values, options),
    delete: async (id, options) => sendJson('DELETE', itemUrl(id), undefined, options),
  }
}

/**
 * Path segment of an id.
 * @throws {ResourceError} 404 for "", "." and "..", which would change the path and cannot be ids
 */
function segmentOf(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new ResourceError(404, undefined, `"${id}" cannot be the id of a record`)
  return encodeURIComponent(id)
}
