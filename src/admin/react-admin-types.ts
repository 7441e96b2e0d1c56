import type { Identifier, Values } from './collection.ts'

// The parts of react-admin's types that the data provider uses. They are declared here, so that the types of this package do
// not depend on react-admin. The compiler checks in sample/admin that they match react-admin's own types.

interface RecordWithId {
  readonly id: Identifier
}
interface ReadParams {
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
}
interface WriteParams<Item extends RecordWithId> {
  readonly id: Item['id']
  readonly data: Values
  /** The record before the edit, as the user has seen it. */
  readonly previousData?: Values | undefined
}

export interface ListParams extends ReadParams {
  readonly pagination?: { readonly page: number; readonly perPage: number } | undefined
  readonly sort?: { readonly field: string; readonly order: 'ASC' | 'DESC' } | undefined
  /** Such as `{ population__gte: 1000000, country: { region: 'Europe' } }`. */
  readonly filter?: Values | undefined
  /** Such as `{ include: { country: true } }`, which adds related records. */
  readonly meta?: { readonly include?: object | undefined } | undefined
}
/** Parameters for a list of the records that refer to the record `id`. */
export interface ReferenceParams extends ListParams {
  /** The field that refers to the record, such as `country_id`. */
  readonly target: string
  readonly id: Identifier
}
export interface ListResult<Item> {
  data: Item[]
  /** Number of records on all pages; undefined if they were not all counted and this is not the last page. */
  total?: number
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean }
}

/** `DataProvider` of react-admin 5. */
export interface DataProvider {
  /** Lets react-admin abort requests whose results are not needed any more. */
  readonly supportAbortSignal: true
  readonly getList: <Item extends RecordWithId>(resource: string, params: ListParams) => Promise<ListResult<Item>>
  readonly getManyReference: <Item extends RecordWithId>(
    resource: string,
    params: ReferenceParams,
  ) => Promise<ListResult<Item>>
  readonly getOne: <Item extends RecordWithId>(
    resource: string,
    params: ReadParams & { readonly id: Item['id'] },
  ) => Promise<{ data: Item }>
  readonly getMany: <Item extends RecordWithId>(
    resource: string,
    params: ReadParams & { readonly ids: readonly Item['id'][] },
  ) => Promise<{ data: Item[] }>
  readonly create: <Item extends RecordWithId>(
    resource: string,
    params: { readonly data: Values },
  ) => Promise<{ data: Item }>
  readonly update: <Item extends RecordWithId>(resource: string, params: WriteParams<Item>) => Promise<{ data: Item }>
  readonly delete: <Item extends RecordWithId>(
    resource: string,
    params: Omit<WriteParams<Item>, 'data'>,
  ) => Promise<{ data: Item }>
  /**
   * Sends one request for each record, and throws the first error after all have finished. With the option `bulk`, one
   * request changes up to 500 records, all of them or none.
   */
  readonly updateMany: <Item extends RecordWithId>(
    resource: string,
    params: { readonly ids: readonly Item['id'][]; readonly data: Values },
  ) => Promise<{ data: Item['id'][] }>
  /** Same as {@link updateMany}, with DELETE. */
  readonly deleteMany: <Item extends RecordWithId>(
    resource: string,
    params: { readonly ids: readonly Item['id'][] },
  ) => Promise<{ data: Item['id'][] }>
}

/** Methods of a data provider that ra-realtime calls. */
export interface LiveMethods {
  /**
   * Calls a function after changes of a resource's records (`resource/task`) or of one record (`resource/task/7`). Resolves
   * when the service has started to send changes, or has refused the subscription.
   */
  readonly subscribe: (topic: string, callback: (event: RealtimeEvent) => void) => Promise<void>
  readonly unsubscribe: (topic: string, callback: (event: RealtimeEvent) => void) => Promise<void>
}
/** Event of ra-realtime. */
export interface RealtimeEvent {
  topic: string
  type: 'created' | 'updated' | 'deleted'
  /** Without ids, any record of the topic may have changed. */
  payload: { ids: Identifier[] }
  date: Date
}
