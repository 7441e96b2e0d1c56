import type { ResourceError } from '../client/index.ts'
import {
  type CollectionOf,
  collectionsOf,
  fetchMany,
  fetchPage,
  type Identifier,
  keyOf,
  orderingOf,
  type ProviderOptions,
  type Values,
} from './collection.ts'
import { changesOf, createSeen, type Seen } from './edits.ts'
import { containing } from './pattern.ts'
import type { DataProvider, ListParams, ListResult } from './react-admin-types.ts'
import { fieldErrorsOf, messageOf, translateTo } from './refusal.ts'

export { type BasicAuth, type BasicAuthOptions, createBasicAuth } from './basic-auth.ts'
export type { DataProvider } from './react-admin-types.ts'

/** A refusal as react-admin reads it: a form shows each field's message beside it, and the whole as a notification. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  /** `{ errors: { rating: 'must be …', root: { serverError: 'rating must be …' } } }` */
  readonly body: { readonly errors: Readonly<Record<string, unknown>> }
  constructor(refusal: ResourceError) {
    super(messageOf(refusal), { cause: refusal })
    this.status = refusal.status
    this.body = { errors: { ...fieldErrorsOf(refusal), root: { serverError: this.message } } }
  }
}
const translated = translateTo(HttpError)

/**
 * A data provider for react-admin 5. Filters are named as the service names them (`population__gte`); an array means `in`, null
 * means `is=null`, nested values are a path, `or`, `and` and `not` combine filters, and `name__contains` is the provider's own. Lists have `pageInfo`, and `total` where
 * all records are counted. An update sends the fields that have changed, with `If-Match` where the
 * record was edited as it had been read.
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
  const seen = createSeen()
  return {
    supportAbortSignal: true,
    ...buildReads(collectionOf, seen, count || undefined),
    ...buildWrites(collectionOf, seen),
  }
}

type Reads = 'getList' | 'getManyReference' | 'getOne' | 'getMany'

function buildReads(
  collectionOf: CollectionOf,
  seen: Seen,
  count: 'exact' | 'capped' | undefined,
): Pick<DataProvider, Reads> {
  const list = async (resource: string, params: ListParams, more: Values = {}): Promise<ListResult<never>> => {
    const { pagination, sort, filter, signal } = params
    const ordering = orderingOf(sort ? [sort] : [])
    const request = { ordering, limit: pagination?.perPage, page: pagination?.page, count, signal }
    const asked = { ...filtersOf(filter), ...more }
    const { objects, hasNext, total } = await translated(fetchPage(collectionOf(resource), asked, request))
    const { page = 1, perPage = 0 } = pagination ?? {}
    const pageInfo = { hasNextPage: hasNext, hasPreviousPage: page > 1 }
    const isEnd = !hasNext && (objects.length > 0 || page === 1)
    const known = total ?? (isEnd ? (page - 1) * perPage + objects.length : undefined)
    return { data: objects as never[], pageInfo, ...(known !== undefined && { total: known }) }
  }
  return {
    getList: (resource, params) => list(resource, params),
    getManyReference: (resource, { target, id, ...params }) => list(resource, params, { [keyOf(target)]: id }),
    getOne: async (resource, { id, signal }) => {
      const item = await translated(collectionOf(resource).get(id, { signal }))
      return { data: seen.note(resource, item) as never }
    },
    getMany: async (resource, { ids, signal }) => {
      const items = await translated(fetchMany(collectionOf(resource), ids, signal))
      return { data: items as never[] }
    },
  }
}

function buildWrites(collectionOf: CollectionOf, seen: Seen): Omit<DataProvider, Reads | 'supportAbortSignal'> {
  return {
    create: async (resource, { data }) => {
      const item = await translated(collectionOf(resource).create(data))
      return { data: seen.note(resource, item) as never }
    },
    update: async (resource, { id, data, previousData }) => {
      const ifMatch = seen.tagOf(resource, id, previousData)
      const item = await translated(collectionOf(resource).update(id, changesOf(data, previousData), { ifMatch }))
      return { data: seen.note(resource, item) as never }
    },
    delete: async (resource, { id, previousData }) => {
      await translated(collectionOf(resource).delete(id, { ifMatch: seen.tagOf(resource, id, previousData) }))
      return { data: (previousData ?? { id }) as never }
    },
    updateMany: (resource, { ids, data }) => each(ids, (id) => collectionOf(resource).update(id, data)),
    deleteMany: (resource, { ids }) => each(ids, (id) => collectionOf(resource).delete(id)),
  }
}

/** Once all have ended, so that a list which is read again thereafter shows all of it. */
async function each<Id extends Identifier>(
  ids: readonly Id[],
  work: (id: Id) => Promise<unknown>,
): Promise<{ data: Id[] }> {
  const ended = await Promise.allSettled(ids.map((id) => translated(work(id))))
  const failed = ended.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
  return { data: [...ids] }
}

function filtersOf(filter: Values = {}, path = ''): Values {
  return Object.fromEntries(
    Object.entries(filter).flatMap(([key, value]) => {
      if (value === undefined) return []
      if (path === '' && (key === 'or' || key === 'and') && Array.isArray(value)) {
        return [[key, value.map((filters: Values) => filtersOf(filters))]]
      }
      if (path === '' && key === 'not') return [[key, filtersOf(value as Values)]]
      const name = path + keyOf(key)
      const [, text] = /^(.+)__contains$/.exec(name) ?? []
      if (text !== undefined) return [[`${text}__ilike`, containing(String(value))]]
      if (value === null) return [[`${name}__is`, 'null']]
      if (Array.isArray(value)) return [[name.endsWith('__in') ? name : `${name}__in`, value]]
      if (typeof value !== 'object' || value instanceof Date) return [[name, value]]
      return Object.entries(filtersOf(value as Values, `${name}__`))
    }),
  )
}
