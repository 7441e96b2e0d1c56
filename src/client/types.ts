import type { EntityOf } from './entity.ts'
import type { AllFilters, Checked } from './filters.ts'
import type { OrderingOf } from './ordering.ts'
import type { RecordOf, ValuesOf } from './records.ts'

/** How a client asks. */
export interface ClientOptions {
  /** Of HTTP Basic. */
  readonly username?: string
  readonly password?: string
  /** Sent with every request, in place of the client's own of these names. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * How often a request is sent again that is answered with 503 and a `Retry-After` of at most 30 seconds; but for a POST, which
   * may have been carried out. Default: 2.
   */
  readonly retries?: number
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch
}

/** Of one request. */
export interface RequestOptions {
  /** Aborts it, also while it waits to be sent again. The method then throws the signal's reason. */
  readonly signal?: AbortSignal
}

/** Of a list. */
export interface ListOptions<Ordering extends string = string> extends RequestOptions {
  /** The first key first. Default: the order of the ids. */
  readonly ordering?: Ordering | readonly Ordering[]
  /** Records of a page. Default: the service's, 20. With `count` it may be 0. */
  readonly limit?: number
  /** The first is 1. */
  readonly page?: number
  /** Empty for the first page of keyset paging, which costs the same however deep it gets. */
  readonly after?: string
  /** Adds how many records all pages have, as `meta.total`: all of them, or at most 10,000, the service's limit. */
  readonly count?: 'exact' | 'capped'
}

/** Of a write. */
export interface WriteOptions extends RequestOptions {
  /** Only where the record still has this ETag, see `etagOf`; else 412. */
  readonly ifMatch?: string | undefined
}

/** One page of a list (specification: Collection envelope). */
export interface Page<Item> {
  readonly meta: {
    readonly model: string
    readonly page: number
    /** Path of that page; empty where there is none. */
    readonly next: string
    readonly previous: string
    /** With `count`. */
    readonly total?: number
    /** With `count: 'capped'`: whether there are more than `total`. */
    readonly total_capped?: boolean
  }
  readonly objects: readonly Item[]
}

/**
 * What can be done with one resource. Every method throws `ResourceError` for an answer that is no success, and what `fetch` throws.
 * @typeParam Resources those of the client: what they exclude cannot be filtered by through a relation either
 */
export interface ResourceClient<Resource, Resources = { readonly resource: Resource }> {
  readonly list: <Filters extends object = AllFilters<EntityOf<Resource>, Resources>>(
    filters?: Checked<Resource, Resources, Filters>,
    options?: ListOptions<OrderingOf<Resource, Resources>>,
  ) => Promise<Page<RecordOf<Resource, Resources>>>
  /** Every record of a list, page by page. */
  readonly all: <Filters extends object = AllFilters<EntityOf<Resource>, Resources>>(
    filters?: Checked<Resource, Resources, Filters>,
    options?: ListOptions<OrderingOf<Resource, Resources>>,
  ) => AsyncGenerator<RecordOf<Resource, Resources>, void, undefined>
  readonly get: (id: string | number, options?: RequestOptions) => Promise<RecordOf<Resource, Resources>>
  readonly create: (
    values: ValuesOf<Resource, Resources>,
    options?: RequestOptions,
  ) => Promise<RecordOf<Resource, Resources>>
  /** Changes the fields that are given. */
  readonly update: (
    id: string | number,
    values: ValuesOf<Resource, Resources>,
    options?: WriteOptions,
  ) => Promise<RecordOf<Resource, Resources>>
  readonly delete: (id: string | number, options?: WriteOptions) => Promise<void>
}

/** By their names in the path. */
export type Client<Resources> = { readonly [Name in keyof Resources]: ResourceClient<Resources[Name], Resources> }
