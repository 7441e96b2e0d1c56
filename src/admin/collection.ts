import { memberOf } from '../client/group-text.ts'
import { type ClientOptions, createClient } from '../client/index.ts'

export type Identifier = string | number
export type Values = Readonly<Record<string, unknown>>
/** A record of an unknown resource. */
export type Item = Values & { readonly id: Identifier }

export interface ListRequest {
  readonly ordering?: string | undefined
  readonly limit?: number | undefined
  readonly page?: number | undefined
  readonly after?: string | undefined
  readonly count?: 'exact' | 'capped' | undefined
  readonly search?: string | undefined
  readonly fields?: readonly string[] | undefined
  /** Related records of the records, as the option of the client. */
  readonly include?: object | undefined
  readonly signal?: AbortSignal | undefined
}
/** Options of reads that are not restricted to lists. */
export type Selection = Pick<ListRequest, 'fields' | 'include' | 'signal'>
interface WriteRequest {
  readonly ifMatch?: string | undefined
}
/** One page of a list. */
interface ItemPage {
  readonly objects: readonly Item[]
  readonly hasNext: boolean
  /** Number of records on all pages; undefined if they were not counted, or not all of them. */
  readonly total: number | undefined
}

/** Options of the data providers, in addition to those of the client. */
export type ProviderOptions = ClientOptions & {
  /**
   * How the records of lists are counted, with a second statement: `exact` counts all of them, `capped` at most 10,000
   * (the service's `limits.count`). Use false if a resource has a field `count`. Default: `capped`.
   */
  readonly count?: 'exact' | 'capped' | false
  /**
   * Names of the resources that have the option `bulk` in the service, or true for all: one request then writes several of
   * their records. Default: one request for each record.
   */
  readonly bulk?: boolean | readonly string[]
}

/** Client of a resource whose entity is unknown. */
export interface Collection {
  readonly list: (
    filters: Values,
    request: ListRequest,
  ) => Promise<{
    readonly meta: { readonly next: string; readonly total?: number; readonly total_capped?: boolean }
    readonly objects: readonly Item[]
  }>
  readonly all: (filters: Values, request: ListRequest) => AsyncIterable<Item>
  readonly get: (id: Identifier, request: Selection) => Promise<Item>
  readonly create: (values: Values) => Promise<Item>
  readonly createMany: (records: readonly Values[]) => Promise<readonly Item[]>
  readonly update: (id: Identifier, values: Values, request?: WriteRequest) => Promise<Item>
  readonly updateMany: (filters: Values, values: Values) => Promise<number>
  readonly delete: (id: Identifier, request?: WriteRequest) => Promise<void>
  readonly deleteMany: (filters: Values) => Promise<number>
}
/** Returns the collection of a resource by its name. */
export type CollectionOf = (resource: string) => Collection

export function collectionsOf(baseUrl: string, options: ClientOptions): CollectionOf {
  const client = createClient(baseUrl, options) as unknown as Readonly<Record<string, Collection>>
  return (resource) => client[resource] as Collection
}

/**
 * Records per request when many are fetched. The limits of the service are higher: 500 ids, and 1,000 records on a
 * page.
 */
const chunkSize = 100
/** Maximum number of characters of the ids in a request. A parameter may have at most 2,048. */
const maxIdCharacters = 2000
/** The same for the ids as they are encoded in the URL. Servers and proxies limit its length, often to 8,000 characters. */
const maxEncodedIdCharacters = 4000

/**
 * Fetches a page by its number. The service cuts a page if its records have too many bytes: then the rest is fetched
 * with more requests.
 */
export async function fetchPage(collection: Collection, filters: Values, request: ListRequest): Promise<ItemPage> {
  const { objects, meta } = await collection.list(filters, request)
  const { limit = objects.length } = request
  const hasNext = meta.next !== ''
  const total = meta.total_capped === true ? undefined : meta.total
  if (!hasNext || objects.length >= limit) return { objects, hasNext, total }
  const items: Item[] = []
  for await (const item of collection.all(filters, { ...request, count: undefined })) {
    if (items.length === limit) return { objects: items, hasNext, total }
    items.push(item)
  }
  return { objects: items, hasNext: false, total }
}

/**
 * Fetches records by their ids, with as few requests as their number and length allow. Ids without a record are left
 * out.
 */
export async function fetchMany(
  collection: Collection,
  ids: readonly Identifier[],
  selection: Selection,
): Promise<readonly Item[]> {
  const pages = await Promise.all(
    chunksOf(ids, chunkSize).map((chunk) =>
      fetchPage(collection, { id__in: chunk }, { ...selection, limit: chunk.length }),
    ),
  )
  return pages.flatMap(({ objects }) => objects)
}

/** Splits ids, without repetitions, into the lists of as few requests as their number and length allow. */
export function chunksOf(ids: readonly Identifier[], maxIds: number): readonly (readonly Identifier[])[] {
  const chunks: Identifier[][] = []
  let characters = 0
  let encodedCharacters = 0
  for (const id of new Set(ids)) {
    const member = `${memberOf(id)},`
    const encodedLength = encodeURIComponent(member).length
    characters += member.length
    encodedCharacters += encodedLength
    const lastChunk = chunks.at(-1)
    const fits = characters <= maxIdCharacters && encodedCharacters <= maxEncodedIdCharacters
    if (lastChunk !== undefined && lastChunk.length < maxIds && fits) lastChunk.push(id)
    else {
      chunks.push([id])
      characters = member.length
      encodedCharacters = encodedLength
    }
  }
  return chunks
}

/** Fetches all records of a list, one page at a time. */
export async function fetchAll({ all }: Collection, filters: Values, request: ListRequest): Promise<readonly Item[]> {
  const items: Item[] = []
  for await (const item of all(filters, { ...request, limit: chunkSize, after: '' })) items.push(item)
  return items
}

/**
 * Name of a field in requests, such as `country__region`. @param field as react-admin and Refine write it: `country.region`
 */
export function fieldNameOf(field: string): string {
  return field.replaceAll('.', '__')
}

/** Parameter `ordering`, such as `-population`. */
export function orderingOf(fields: readonly { readonly field: string; readonly order: string }[]): string | undefined {
  const keys = fields.map(({ field, order }) => (order.toLowerCase() === 'desc' ? '-' : '') + fieldNameOf(field))
  return keys.length > 0 ? keys.join() : undefined
}
