import type { ResourceError } from '../client/index.ts'
import {
  type Collection,
  collectionsOf,
  fetchAll,
  fetchMany,
  fetchPage,
  fieldNameOf,
  type Identifier,
  orderingOf,
  type ProviderOptions,
  type Selection,
  type Values,
} from './collection.ts'
import { manyWrites } from './many.ts'
import { filtersOf } from './refine-filters.ts'
import type { DataProvider, ListParams, Meta } from './refine-types.ts'
import { fieldErrorsOf, messageOf, translateTo } from './refusal.ts'

export { type AccessControl, type AccessControlOptions, createAccessControl } from './access-control.ts'
export type { LiveProviderOptions } from './live.ts'
export { type BasicAuth, createBasicAuth, createTokenAuth, type TokenAuth } from './refine-auth.ts'
export { createLiveProvider } from './refine-live.ts'
export type { DataProvider, LiveProvider } from './refine-types.ts'

/** Error in the form that Refine expects: forms show the message of each field next to it. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly statusCode: number
  /** Such as `{ rating: 'must be …' }`. */
  readonly errors: Readonly<Record<string, string>>
  constructor(refusal: ResourceError) {
    super(messageOf(refusal), { cause: refusal })
    this.statusCode = refusal.status
    this.errors = fieldErrorsOf(refusal)
  }
}
const translated = translateTo(HttpError)

/**
 * Creates a data provider for Refine 5. If a list has more records than are counted, the exact `total` is not known. While there
 * is a next page, it is the number of records up to the current page plus one, so that Refine offers exactly one more page.
 * @param baseUrl URL of the mount, such as `/api`
 * @throws {HttpError} from every method, for a response whose status is not 2xx
 * @example
 * const dataProvider = createDataProvider('/api', { username: 'ann', password: 'ann-secret' })
 */
export function createDataProvider(baseUrl: string, options: ProviderOptions = {}): DataProvider {
  const { count = 'capped' } = options
  const collectionOf = collectionsOf(baseUrl, options)
  const many = manyWrites(collectionOf, options)
  return {
    getList: (params) => translated(list(collectionOf(params.resource), params, count || undefined)),
    getMany: async ({ resource, ids, meta }) => {
      const items = await translated(fetchMany(collectionOf(resource), ids, selectionOf(meta)))
      return { data: items as never[] }
    },
    getOne: ({ resource, id, meta }) => toResult(collectionOf(resource).get(id, selectionOf(meta))),
    create: ({ resource, variables }) => toResult(collectionOf(resource).create(variables as Values)),
    update: ({ resource, id, variables }) => toResult(collectionOf(resource).update(id, variables as Values)),
    deleteOne: ({ resource, id }) => toResult(remove(collectionOf(resource), id)),
    createMany: ({ resource, variables }) => toList(many.create(resource, variables as readonly Values[])),
    updateMany: ({ resource, ids, variables }) => toList(many.update(resource, ids, variables as Values)),
    deleteMany: async ({ resource, ids }) => {
      await translated(many.delete(resource, ids))
      return { data: ids.map((id) => ({ id })) as never[] }
    },
    getApiUrl: () => baseUrl,
  }
}

async function list(
  collection: Collection,
  params: ListParams,
  count: 'exact' | 'capped' | undefined,
): Promise<{ data: never[]; total: number }> {
  const { pagination = {}, sorters = [], filters = [], meta } = params
  const { mode = 'server', currentPage: page = 1, pageSize: limit = 10 } = pagination
  const serviceFilters = filtersOf(filters)
  const request = { ...selectionOf(meta), ordering: orderingOf(sorters), search: meta?.search }
  if (mode !== 'server') {
    const items = await fetchAll(collection, serviceFilters, request)
    return { data: items as never[], total: items.length }
  }
  const { objects, hasNext, total } = await fetchPage(collection, serviceFilters, { ...request, limit, page, count })
  const knownRecords = (page - 1) * limit + objects.length
  return { data: objects as never[], total: total ?? (hasNext ? knownRecords + 1 : knownRecords) }
}

function selectionOf(meta: Meta | undefined): Selection {
  return {
    fields: meta?.fields?.map((name) => fieldNameOf(String(name))),
    include: meta?.include,
    signal: meta?.queryContext?.signal,
  }
}

async function remove(collection: Collection, id: Identifier): Promise<{ readonly id: Identifier }> {
  await collection.delete(id)
  return { id }
}

async function toResult(record: Promise<unknown>): Promise<{ data: never }> {
  return { data: (await translated(record)) as never }
}

async function toList(records: Promise<readonly unknown[]>): Promise<{ data: never[] }> {
  return { data: (await translated(records)) as never[] }
}
