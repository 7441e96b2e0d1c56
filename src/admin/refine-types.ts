import type { Identifier, Values } from './collection.ts'
import type { Subscription } from './live.ts'

// The parts of Refine's types that the provider uses, so that its declarations do not depend on Refine. The compiler
// checks in sample/admin that they match Refine's own types.

/** Record as Refine declares it: the id is optional. Records of the service always have one. */
interface RefineRecord {
  readonly id?: Identifier
}
/** Metadata that Refine's hooks pass to every method. The signal aborts the request. */
export interface Meta {
  /** Names of the fields that records have, besides `id`. Refine's own type permits objects, which the service refuses. */
  readonly fields?: readonly unknown[] | undefined
  /** Words that the records of a list must contain. */
  readonly search?: string | undefined
  /** Related records of the records, such as `{ country: true }`. For lists and single records. */
  readonly include?: object | undefined
  readonly queryContext?: { readonly signal?: AbortSignal | undefined } | undefined
}
interface ResourceParams {
  readonly resource: string
  readonly meta?: Meta | undefined
}

export interface Filter {
  readonly operator: string
  readonly field?: string
  /** Value to compare with; for `and` and `or`, an array of filters. */
  readonly value: unknown
}

export interface ListParams extends ResourceParams {
  readonly pagination?:
    | {
        /** Number of the page, starting at 1. */
        readonly currentPage?: number | undefined
        readonly pageSize?: number | undefined
        /** `off` and `client` fetch the whole list. */
        readonly mode?: 'client' | 'server' | 'off' | undefined
      }
    | undefined
  readonly sorters?: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[] | undefined
  readonly filters?: readonly Filter[] | undefined
}

/**
 * `DataProvider` of Refine 5. The methods for several records send one request for each, and throw the first error after all
 * have finished. With the option `bulk`, one request creates all records, or writes up to 500: all of them or none.
 */
export interface DataProvider {
  readonly getList: <Item extends RefineRecord>(params: ListParams) => Promise<{ data: Item[]; total: number }>
  readonly getMany: <Item extends RefineRecord>(
    params: ResourceParams & { readonly ids: readonly Identifier[] },
  ) => Promise<{ data: Item[] }>
  readonly getOne: <Item extends RefineRecord>(
    params: ResourceParams & { readonly id: Identifier },
  ) => Promise<{ data: Item }>
  readonly create: <Item extends RefineRecord, Sent = Values>(
    params: ResourceParams & { readonly variables: Sent },
  ) => Promise<{ data: Item }>
  readonly update: <Item extends RefineRecord, Sent = Values>(
    params: ResourceParams & { readonly id: Identifier; readonly variables: Sent },
  ) => Promise<{ data: Item }>
  readonly deleteOne: <Item extends RefineRecord>(
    params: ResourceParams & { readonly id: Identifier },
  ) => Promise<{ data: Item }>
  readonly createMany: <Item extends RefineRecord, Sent = Values>(
    params: ResourceParams & { readonly variables: readonly Sent[] },
  ) => Promise<{ data: Item[] }>
  /** Changes several records. With the option `bulk`, the result has only the changed fields and the ids of the records. */
  readonly updateMany: <Item extends RefineRecord, Sent = Values>(
    params: ResourceParams & { readonly ids: readonly Identifier[]; readonly variables: Sent },
  ) => Promise<{ data: Item[] }>
  /** Deletes several records. The result has only the ids of the records. */
  readonly deleteMany: <Item extends RefineRecord>(
    params: ResourceParams & { readonly ids: readonly Identifier[] },
  ) => Promise<{ data: Item[] }>
  readonly getApiUrl: () => string
}

/** `LiveProvider` of Refine 5. */
export interface LiveProvider {
  readonly subscribe: (options: {
    /** Such as `resources/task`. */
    readonly channel: string
    /** Types of the events to receive; `*` for all. */
    readonly types: readonly string[]
    readonly params?: { readonly ids?: readonly Identifier[] } | undefined
    readonly callback: (event: RefineLiveEvent) => void
  }) => Subscription
  readonly unsubscribe: (subscription: Subscription) => void
}
/** Event of Refine. Without ids, any record of the resource may have changed. */
interface RefineLiveEvent {
  channel: string
  type: string
  payload: { ids: Identifier[] }
  date: Date
}
