import type { Identifier, Values } from './collection.ts'

// Of react-admin as much as the provider touches, so that its declarations need no react-admin to be read:
// sample/admin checks that react-admin takes it.

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
  /** The record as the user has seen it. */
  readonly previousData?: Values | undefined
}

export interface ListParams extends Reading {
  readonly pagination?: { readonly page: number; readonly perPage: number } | undefined
  readonly sort?: { readonly field: string; readonly order: 'ASC' | 'DESC' } | undefined
  /** `{ population__gte: 1000000, country: { region: 'Europe' } }` */
  readonly filter?: Values | undefined
}
export interface ReferenceParams extends ListParams {
  readonly target: string
  readonly id: Identifier
}
export interface ListResult<Item> {
  data: Item[]
  /** Known on the last page alone. */
  total?: number
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean }
}

/** What react-admin 5 calls a DataProvider. */
export interface DataProvider {
  /** react-admin then aborts what nobody waits for any more. */
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
  /** Each by its own request; throws the first refusal once all have ended. */
  readonly updateMany: <Item extends Identified>(
    resource: string,
    params: { readonly ids: readonly Item['id'][]; readonly data: Values },
  ) => Promise<{ data: Item['id'][] }>
  /** As {@link updateMany}. */
  readonly deleteMany: <Item extends Identified>(
    resource: string,
    params: { readonly ids: readonly Item['id'][] },
  ) => Promise<{ data: Item['id'][] }>
}
