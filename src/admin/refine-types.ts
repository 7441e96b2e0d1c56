import type { Identifier, Values } from './collection.ts'

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

/** `DataProvider` of Refine 5. Refine replaces missing optional methods, such as `updateMany`, by calls of these. */
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
  readonly getApiUrl: () => string
}
