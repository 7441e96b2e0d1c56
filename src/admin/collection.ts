import { type ClientOptions, createClient } from '../client/index.ts'

export type Identifier = string | number
export type Values = Readonly<Record<string, unknown>>
/** A record as it comes: its fields are known to the application alone. */
export type Item = Values & { readonly id: Identifier }

export interface ListRequest {
  readonly ordering?: string | undefined
  readonly limit?: number | undefined
  readonly page?: number | undefined
  readonly after?: string | undefined
  readonly count?: 'exact' | 'capped' | undefined
  readonly signal?: AbortSignal | undefined
}
interface WriteRequest {
  readonly ifMatch?: string | undefined
}
interface ItemPage {
  readonly objects: readonly Item[]
  readonly hasNext: boolean
  /** Records of all pages; undefined where they were not counted, or not all. */
  readonly total: number | undefined
}

/** What the providers take besides the options of the client. */
export interface ProviderOptions extends ClientOptions {
  /**
   * How lists are counted, by a second statement: all records, or at most 10,000 (the service's `limits.count`). False for services
   * with resources that have a field `count`. Default: `capped`.
   */
  readonly count?: 'exact' | 'capped' | false
}

/** A resource of the client whose entity is not known. */
export interface Collection {
  readonly list: (
    filters: Values,
    request: ListRequest,
  ) => Promise<{
    readonly meta: { readonly next: string; readonly total?: number; readonly total_capped?: boolean }
    readonly objects: readonly Item[]
  }>
  readonly all: (filters: Values, request: ListRequest) => AsyncIterable<Item>
  readonly get: (id: Identifier, request: Pick<ListRequest, 'signal'>) => Promise<Item>
  readonly create: (values: Values) => Promise<Item>
  readonly update: (id: Identifier, values: Values, request?: WriteRequest) => Promise<Item>
  readonly delete: (id: Identifier, request?: WriteRequest) => Promise<void>
}
/** By the name of the resource. */
export type CollectionOf = (resource: string) => Collection

export function collectionsOf(baseUrl: string, options: ClientOptions): CollectionOf {
  const client = createClient(baseUrl, options) as unknown as Readonly<Record<string, Collection>>
  return (resource) => client[resource] as Collection
}

/** Records of one request where many are asked for: far from the service's limits, 500 ids and pages of 1,000. */
const many = 100
/** Characters of the ids in a request: a parameter may have 2,048. */
const characters = 2000

/** A page of a number with all of its records: the service ends one early whose records have too many bytes. */
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

/** The records of ids, by as few requests as their number and length allow; none for an id that there is not. */
export async function fetchMany(
  collection: Collection,
  ids: readonly Identifier[],
  signal: AbortSignal | undefined,
): Promise<readonly Item[]> {
  const pages = await Promise.all(
    chunksOf(ids).map((some) => fetchPage(collection, { id__in: some }, { limit: some.length, signal })),
  )
  return pages.flatMap(({ objects }) => objects)
}

function chunksOf(ids: readonly Identifier[]): readonly (readonly Identifier[])[] {
  const chunks: Identifier[][] = []
  let used = 0
  for (const id of new Set(ids)) {
    // As a member of a list at its longest, with quotes and comma.
    const length = encodeURIComponent(`${JSON.stringify(String(id))},`).length
    const last = chunks.at(-1)
    const fits = last !== undefined && last.length < many && used + length <= characters
    if (fits) last.push(id)
    else chunks.push([id])
    used = fits ? used + length : length
  }
  return chunks
}

/** Every record of a list, page by page. */
export async function fetchAll({ all }: Collection, filters: Values, request: ListRequest): Promise<readonly Item[]> {
  const items: Item[] = []
  for await (const item of all(filters, { ...request, limit: many, after: '' })) items.push(item)
  return items
}

/** The service's name of a field that the libraries write with dots: `country.region`. */
export function keyOf(field: string): string {
  return field.replaceAll('.', '__')
}

/** An ordering: `-population`. */
export function orderingOf(fields: readonly { readonly field: string; readonly order: string }[]): string | undefined {
  const keys = fields.map(({ field, order }) => (order.toLowerCase() === 'desc' ? '-' : '') + keyOf(field))
  return keys.length > 0 ? keys.join() : undefined
}
