import type { ResourceError } from '../client/index.ts'
import {
  type Collection,
  collectionsOf,
  fetchAll,
  fetchMany,
  fetchPage,
  type Identifier,
  orderingOf,
  type ProviderOptions,
  type Values,
} from './collection.ts'
import { filtersOf } from './refine-filters.ts'
import type { DataProvider, ListParams } from './refine-types.ts'
import { fieldErrorsOf, messageOf, translateTo } from './refusal.ts'

export type { DataProvider } from './refine-types.ts'

/** A refusal as Refine reads it: a form shows each field's message beside it. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly statusCode: number
  /** `{ rating: 'must be …' }` */
  readonly errors: Readonly<Record<string, string>>
  constructor(refusal: ResourceError) {
    super(messageOf(refusal), { cause: refusal })
    this.statusCode = refusal.status
    this.errors = fieldErrorsOf(refusal)
  }
}
const translated = translateTo(HttpError)

/**
 * A data provider for Refine 5. Where there are more records than are counted, `total` is one more than has been seen while there is
 * a next page: Refine then offers the next page and none after it.
 * @param baseUrl where the service is mounted: `/api`
 * @throws {HttpError} by every method, for an answer that is no success
 * @example
 * const dataProvider = createDataProvider('/api', { username: 'ann', password: 'ann-secret' })
 */
export function createDataProvider(
  baseUrl: string,
  { count = 'capped', ...options }: ProviderOptions = {},
): DataProvider {
  const collectionOf = collectionsOf(baseUrl, options)
  return {
    getList: (params) => translated(list(collectionOf(params.resource), params, count || undefined)),
    getMany: async ({ resource, ids, meta }) => {
      const items = await translated(fetchMany(collectionOf(resource), ids, meta?.queryContext?.signal))
      return { data: items as never[] }
    },
    getOne: ({ resource, id, meta }) => one(collectionOf(resource).get(id, { signal: meta?.queryContext?.signal })),
    create: ({ resource, variables }) => one(collectionOf(resource).create(variables as Values)),
    update: ({ resource, id, variables }) => one(collectionOf(resource).update(id, variables as Values)),
    deleteOne: ({ resource, id }) => one(remove(collectionOf(resource), id)),
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
  const asked = filtersOf(filters)
  const request = { ordering: orderingOf(sorters), signal: meta?.queryContext?.signal }
  if (mode !== 'server') {
    const items = await fetchAll(collection, asked, request)
    return { data: items as never[], total: items.length }
  }
  const { objects, hasNext, total } = await fetchPage(collection, asked, { ...request, limit, page, count })
  const seen = (page - 1) * limit + objects.length
  return { data: objects as never[], total: total ?? (hasNext ? seen + 1 : seen) }
}

async function remove(collection: Collection, id: Identifier): Promise<{ readonly id: Identifier }> {
  await collection.delete(id)
  return { id }
}

async function one(answer: Promise<unknown>): Promise<{ data: never }> {
  return { data: (await translated(answer)) as never }
}
