import type { CheckedAggregate, CheckedGroupKey, Group, HavingOf } from './aggregates.ts'
import type { AnyOperation, BatchOperations, BatchResults } from './batch-types.ts'
import type { EntityOf } from './entity.ts'
import type { AllFilters, Checked } from './filters.ts'
import type { CheckedIncludes, IncludesOf, WithIncludes } from './includes.ts'
import type { OrderingOf, WithDirection } from './ordering.ts'
import type { RecordOf, Selected } from './records.ts'
import type { IncludingOptions, KeyOptions, RequestOptions, Selection } from './request-options.ts'
import type { ResourceWrites } from './write-types.ts'

/**
 * A token, or a function that returns it. The function is called before each request; null or undefined sends no token.
 * After a 401 it is called with the token that was rejected, and the request is repeated once with another one. Requests
 * at the same time share this call.
 */
export type Token = string | ((rejected?: string) => string | null | undefined | Promise<string | null | undefined>)

/** Credentials of one scheme. Without any, the client sets no `Authorization` header. */
export type ClientCredentials =
  | {
      /** Username of HTTP Basic. */
      readonly username?: string
      readonly password?: string
      readonly token?: never
      readonly apiKey?: never
    }
  | {
      /** Token of the scheme `Bearer`. */
      readonly token: Token
      readonly username?: never
      readonly password?: never
      readonly apiKey?: never
    }
  | {
      /** API key of the scheme `ApiKey`. */
      readonly apiKey: string
      readonly username?: never
      readonly password?: never
      readonly token?: never
    }

/** Options of a client. */
export type ClientOptions = ClientSettings & ClientCredentials

/** Options of a client without those for credentials. */
export interface ClientSettings {
  /** Headers of every request. They replace those that the client sets. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Number of times that a request is repeated after a 503 with a `Retry-After` of at most 30 seconds. A POST without an
   * `Idempotency-Key` is never repeated, because it may have been executed. Default: 2.
   */
  readonly retries?: number
  /**
   * Whether each POST and PATCH has a random `Idempotency-Key`, so that it can also be repeated after a network error.
   * The service must have the entity `IdempotencyKey`. Default: false.
   */
  readonly idempotencyKeys?: boolean
  /** Function that sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch
}

/** Options of a streamed or watched list. */
export interface StreamOptions<Ordering extends string = string, Name = string>
  extends RequestOptions,
    Selection<Name> {
  /** Fields to sort by, in order of priority. Default: `id`. */
  readonly ordering?: Ordering | readonly Ordering[]
  /** Maximum number of records. Default: all. */
  readonly limit?: number
  /** Words, each of which must occur in a field that the service searches. Only if the resource can be searched. */
  readonly search?: string
}

/** Options of a list. */
export interface ListOptions<Ordering extends string = string, Name = string> extends StreamOptions<Ordering, Name> {
  /** Number of records on a page. Default: that of the service, usually 20. 0 is allowed with `count`. */
  readonly limit?: number
  /** Number of the page, starting at 1. */
  readonly page?: number
  /** Token for keyset paging, which takes the same time for every page. Empty for the first page. */
  readonly after?: string
  /**
   * Adds the number of records on all pages as `meta.total`. `capped` counts at most 10,000 or the limit of the
   * service.
   */
  readonly count?: 'exact' | 'capped'
}

/** Options of `aggregate`. `having` and `ordering` have names of `functions` and `by`. */
export interface AggregateOptions<Name extends string, Key extends string, Having extends object>
  extends RequestOptions {
  /** Functions to compute for each group: `count`, `minutes__sum`. */
  readonly functions: readonly Name[]
  /** Fields and date parts whose values identify a group. Default: one group of all records. */
  readonly by?: readonly Key[]
  /** Filters on groups, such as `minutes__sum__gte`. */
  readonly having?: Having
  /** Functions, fields and date parts to sort by, in order of priority. Default: `by`. */
  readonly ordering?: NoInfer<WithDirection<Name | Key>> | readonly NoInfer<WithDirection<Name | Key>>[]
  /** Number of groups on a page. Default: that of the service, usually 20. */
  readonly limit?: number
  /** Number of the page, starting at 1. */
  readonly page?: number
  /** Words that records must contain. Only if the resource can be searched. */
  readonly search?: string
}

/** One page of a list or of groups (specification: Collection envelope). */
export interface Page<Item> {
  readonly meta: {
    readonly model: string
    readonly page: number
    /** Path of the next page; empty if there is none. */
    readonly next: string
    /** Path of the previous page; empty if there is none. */
    readonly previous: string
    /** Number of records on all pages; only with `count`. */
    readonly total?: number
    /** Whether there are more records than `total`; only with `count: 'capped'`. */
    readonly total_capped?: boolean
  }
  readonly objects: readonly Item[]
}

/**
 * Methods of one resource. Each of them throws `ResourceError` for a response whose status is not 2xx, and the errors
 * of `fetch`.
 * @typeParam Resources all resources of the client: their hidden properties cannot be filtered by through relations
 */
export interface ResourceClient<Resource, Resources = { readonly resource: Resource }>
  extends ResourceWrites<Resource, Resources> {
  readonly list: <
    Filters extends object = AllFilters<EntityOf<Resource>, Resources>,
    Name extends keyof RecordOf<Resource, Resources> = never,
    Includes extends IncludesOf<Resource, Resources> = never,
  >(
    filters?: Checked<Resource, Resources, Filters>,
    options?: ListOptions<OrderingOf<Resource, Resources>, Name> &
      IncludingOptions<CheckedIncludes<Resource, Resources, Includes>>,
  ) => Promise<Page<WithIncludes<Selected<RecordOf<Resource, Resources>, Name>, Resource, Resources, Includes>>>
  /** Iterates over all records of a list. It requests one page at a time. */
  readonly all: <
    Filters extends object = AllFilters<EntityOf<Resource>, Resources>,
    Name extends keyof RecordOf<Resource, Resources> = never,
    Includes extends IncludesOf<Resource, Resources> = never,
  >(
    filters?: Checked<Resource, Resources, Filters>,
    options?: ListOptions<OrderingOf<Resource, Resources>, Name> &
      IncludingOptions<CheckedIncludes<Resource, Resources, Includes>>,
  ) => AsyncGenerator<
    WithIncludes<Selected<RecordOf<Resource, Resources>, Name>, Resource, Resources, Includes>,
    void,
    undefined
  >
  /**
   * Iterates over all records of a list, which one response streams. The request is cancelled when the loop ends early. Only
   * if the resource has the format `ndjson`.
   */
  readonly stream: <
    Filters extends object = AllFilters<EntityOf<Resource>, Resources>,
    Name extends keyof RecordOf<Resource, Resources> = never,
  >(
    filters?: Checked<Resource, Resources, Filters>,
    options?: StreamOptions<OrderingOf<Resource, Resources>, Name>,
  ) => AsyncGenerator<Selected<RecordOf<Resource, Resources>, Name>, void, undefined>
  /**
   * Iterates over the states of a list: an array of all records, at the start and after each change. It keeps one connection
   * open until the loop ends or the signal is aborted, and opens another one if it breaks. A loop that is slower than the
   * changes skips states. Only if the service has the option `live`.
   */
  readonly watch: <
    Filters extends object = AllFilters<EntityOf<Resource>, Resources>,
    Name extends keyof RecordOf<Resource, Resources> = never,
    Includes extends IncludesOf<Resource, Resources> = never,
  >(
    filters?: Checked<Resource, Resources, Filters>,
    options?: StreamOptions<OrderingOf<Resource, Resources>, Name> &
      IncludingOptions<CheckedIncludes<Resource, Resources, Includes>>,
  ) => AsyncGenerator<
    readonly WithIncludes<Selected<RecordOf<Resource, Resources>, Name>, Resource, Resources, Includes>[],
    void,
    undefined
  >
  /** Reads groups of the records that match the filters, instead of the records. */
  readonly aggregate: <
    Name extends string,
    Key extends string = never,
    Filters extends object = AllFilters<EntityOf<Resource>, Resources>,
  >(
    filters: Checked<Resource, Resources, Filters>,
    options: AggregateOptions<
      Name & CheckedAggregate<Resource, Resources, Name>,
      Key & CheckedGroupKey<Resource, Resources, Key>,
      HavingOf<Resource, Resources, NoInfer<Name>>
    >,
  ) => Promise<Page<Group<Resource, Resources, Name, Key>>>
  readonly get: <
    Name extends keyof RecordOf<Resource, Resources> = never,
    Includes extends IncludesOf<Resource, Resources> = never,
  >(
    id: string | number,
    options?: RequestOptions & Selection<Name> & IncludingOptions<CheckedIncludes<Resource, Resources, Includes>>,
  ) => Promise<WithIncludes<Selected<RecordOf<Resource, Resources>, Name>, Resource, Resources, Includes>>
}

/** Clients of the resources, by their names in the path. */
export type Client<Resources> = {
  readonly [Name in keyof Resources]: ResourceClient<Resources[Name], Resources>
} & BatchClient<Resources>

/** Writes of several resources. No resource can have the name of this method. */
interface BatchClient<Resources> {
  /**
   * Runs several writes in one transaction: all of them, or none. Only if the service has the option `batch`.
   * @param build returns the operations in their order. Its parameter has the methods of the resources, which return
   * operations instead of sending requests.
   * @returns the results of the operations
   * @throws {ResourceError} with the index of the refused operation in `problem.index`
   */
  readonly $batch: <Operations extends readonly AnyOperation[]>(
    build: (resources: BatchOperations<Resources>) => readonly [...Operations],
    options?: RequestOptions & KeyOptions,
  ) => Promise<BatchResults<Operations>>
}
