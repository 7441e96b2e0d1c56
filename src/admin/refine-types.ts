import type { Identifier, Values } from './collection.ts'

// Of Refine as much as the provider touches, so that its declarations need no Refine to be read: sample/admin checks that
// Refine takes it.

/** Refine's records may have no id; ours have. */
interface Recorded {
  readonly id?: Identifier
}
/** What Refine's hooks give every method; the signal aborts the request. */
export interface Meta {
  readonly queryContext?: { readonly signal?: AbortSignal | undefined } | undefined
}
interface Asked {
  readonly resource: string
  readonly meta?: Meta | undefined
}

export interface Filter {
  readonly operator: string
  readonly field?: string
  /** Of `and`: filters. */
  readonly value: unknown
}

export interface ListParams extends Asked {
  readonly pagination?:
    | {
        /** From 1. */
        readonly currentPage?: number | undefined
        readonly pageSize?: number | undefined
        /** `off` and `client` read the whole list. */
        readonly mode?: 'client' | 'server' | 'off' | undefined
      }
    | undefined
  readonly sorters?: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[] | undefined
  readonly filters?: readonly Filter[] | undefined
}

/** What Refine 5 calls a DataProvider. What it has no method for Refine does by the others. */
export interface DataProvider {
  readonly getList: <Item extends Recorded>(params: ListParams) => Promise<{ data: Item[]; total: number }>
  readonly getMany: <Item extends Recorded>(
    params: Asked & { readonly ids: readonly Identifier[] },
  ) => Promise<{ data: Item[] }>
  readonly getOne: <Item extends Recorded>(params: Asked & { readonly id: Identifier }) => Promise<{ data: Item }>
  readonly create: <Item extends Recorded, Sent = Values>(
    params: Asked & { readonly variables: Sent },
  ) => Promise<{ data: Item }>
  readonly update: <Item extends Recorded, Sent = Values>(
    params: Asked & { readonly id: Identifier; readonly variables: Sent },
  ) => Promise<{ data: Item }>
  readonly deleteOne: <Item extends Recorded>(params: Asked & { readonly id: Identifier }) => Promise<{ data: Item }>
  readonly getApiUrl: () => string
}
