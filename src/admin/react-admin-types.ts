import type { Identifier, Values } from './collection.ts'

// The parts of react-admin's types that the provider uses, so that its declarations do not depend on react-admin. The
// compiler checks in sample/admin that they match react-admin's own types.

interface Identified {
  readonly id: Identifier
}
interface Reading {
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
}
interface Writing<Item extends Identified> {
  readonly id: Item['id']
  readonly data: Values
  /** The record before the edit, as the user has seen it. */
  readonly previousData?: Values | undefined
}

export interface ListParams extends Reading {
  readonly pagination?: { readonly page: number; readonly perPage: number } | undefined
  readonly sort?: { readonly field: string; readonly order: 'ASC' | 'DESC' } | undefined
  /** Such as `{ population__gte: 1000000, country: { region: 'Europe' } }`. */
  readonly filter?: Values | undefined
}
export interface ReferenceParams extends ListParams {
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
  readonly getList: <Item extends Identified>(resource: string, params: ListParams) => Promise<ListResult<Item>>
  readonly getManyReference: <Item extends Identified>(
    resource: string,
    params: ReferenceParams,
  ) => Promise<ListResult<Item>>
  readonly getOne: <Item extends Identified>(
    resource: string,
    params: Reading & { readonly id: Item['id'] },
  ) => Promise<{ data: Item }>
  readonly getMany: <Item extends Identified>(
    resource: string,
    params: Reading & { readonly ids: readonly Item['id'][] },
  ) => Promise<{ data: Item[] }>
  readonly create: <Item extends Identified>(
    resource: string,
    params: { readonly data: Values },
  ) => Promise<{ data: Item }>
  readonly update: <Item extends Identified>(resource: string, params: Writing<Item>) => Promise<{ data: Item }>
  readonly delete: <Item extends Identified>(
    resource: string,
    params: Omit<Writing<Item>, 'data'>,
  ) => Promise<{ data: Item }>
  /** Sends one request for each record. After all have finished, it throws the first error. */
  readonly updateMany: <Item extends Identified>(
    resource: string,
    params: { readonly ids: readonly Item['id'][]; readonly data: Values },
  ) => Promise<{ data: Item['id'][] }>
  /** Same as {@link updateMany}, with DELETE. */
  readonly deleteMany: <Item extends Identified>(
    resource: string,
    params: { readonly ids: readonly Item['id'][] },
  ) => Promise<{ data: Item['id'][] }>
}
