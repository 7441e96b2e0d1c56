import type { ResourceError } from '../client/index.ts'
import {
  type CollectionOf,
  collectionsOf,
  fetchMany,
  fetchPage,
  fieldNameOf,
  orderingOf,
  type ProviderOptions,
  type Values,
} from './collection.ts'
import { changesOf, createReadRecords, type ReadRecords } from './edits.ts'
import { type ManyWrites, manyWrites } from './many.ts'
import { containing } from './pattern.ts'
import type { DataProvider, ListParams, ListResult } from './react-admin-types.ts'
import { fieldErrorsOf, messageOf, translateTo } from './refusal.ts'

export { type AccessControl, type AccessControlOptions, createAccessControl } from './access-control.ts'
export { type BasicAuth, type BasicAuthOptions, createBasicAuth } from './basic-auth.ts'
export type { LiveProviderOptions } from './live.ts'
export { createLiveMethods } from './react-admin-live.ts'
export type { DataProvider, LiveMethods, RealtimeEvent } from './react-admin-types.ts'
export { createTokenAuth, type TokenAuth, type TokenAuthOptions } from './token-auth.ts'

/**
 * Error in the form that react-admin expects: forms show the message of each field next to it, and the whole message as
 * a notification.
 */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  /** Such as `{ errors: { rating: 'must be …', root: { serverError: 'rating must be …' } } }`. */
  readonly body: { readonly errors: Readonly<Record<string, unknown>> }
  constructor(refusal: ResourceError) {
    super(messageOf(refusal), { cause: refusal })
    this.status = refusal.status
    this.body = { errors: { ...fieldErrorsOf(refusal), root: { serverError: this.message } } }
  }
}

const translated = translateTo(HttpError)

/**
 * Creates a data provider for react-admin 5. Filters have the names of the service (`population__gte`). An array means
 * `in`, null means `is=null`, a nested object is a path, and `or`, `and` and `not` combine filters. This provider adds the
 * filter `name__contains`, and sends `q` as the parameter `search`. `meta.include` adds related records to lists. Lists have
 * `pageInfo`, and `total` if all records were counted. An update sends only the changed fields, with `If-Match` if the edited
 * record is the one that `getOne`, `create` or `update` returned last.
 * @param baseUrl URL of the mount, such as `/api`
 * @throws {HttpError} from every method, for a response whose status is not 2xx
 * @example
 * const dataProvider = createDataProvider('/api', { username: 'ann', password: 'ann-secret' })
 */
export function createDataProvider(baseUrl: string, options: ProviderOptions = {}): DataProvider {
  const { count = 'capped' } = options
  const collectionOf = collectionsOf(baseUrl, options)
  const readRecords = createReadRecords()
  return {
    supportAbortSignal: true,
    ...buildReads(collectionOf, readRecords, count || undefined),
    ...buildWrites(collectionOf, readRecords, manyWrites(collectionOf, options)),
  }
}

type Reads = 'getList' | 'getManyReference' | 'getOne' | 'getMany'

function buildReads(
  collectionOf: CollectionOf,
  readRecords: ReadRecords,
  count: 'exact' | 'capped' | undefined,
): Pick<DataProvider, Reads> {
  const list = async (resource: string, params: ListParams, extraFilters: Values = {}): Promise<ListResult<never>> => {
    const { pagination, sort, filter: { q, ...filter } = {}, signal, meta } = params
    // The name of the text search in examples of react-admin.
    const search = q === undefined || q === null ? undefined : String(q)
    const ordering = orderingOf(sort ? [sort] : [])
    const request = {
      ordering,
      limit: pagination?.perPage,
      page: pagination?.page,
      count,
      search,
      include: meta?.include,
      signal,
    }
    const filters = { ...filtersOf(filter), ...extraFilters }
    const { objects, hasNext, total } = await translated(fetchPage(collectionOf(resource), filters, request))
    const { page = 1, perPage = 0 } = pagination ?? {}
    const pageInfo = { hasNextPage: hasNext, hasPreviousPage: page > 1 }
    const isEnd = !hasNext && (objects.length > 0 || page === 1)
    const knownTotal = total ?? (isEnd ? (page - 1) * perPage + objects.length : undefined)
    return { data: objects as never[], pageInfo, ...(knownTotal !== undefined && { total: knownTotal }) }
  }
  return {
    getList: (resource, params) => list(resource, params),
    getManyReference: (resource, { target, id, ...params }) => list(resource, params, { [fieldNameOf(target)]: id }),
    getOne: async (resource, { id, signal }) => {
      const item = await translated(collectionOf(resource).get(id, { signal }))
      return { data: readRecords.remember(resource, item) as never }
    },
    getMany: async (resource, { ids, signal }) => {
      const items = await translated(fetchMany(collectionOf(resource), ids, { signal }))
      return { data: items as never[] }
    },
  }
}

function buildWrites(
  collectionOf: CollectionOf,
  readRecords: ReadRecords,
  many: ManyWrites,
): Omit<DataProvider, Reads | 'supportAbortSignal'> {
  return {
    create: async (resource, { data }) => {
      const item = await translated(collectionOf(resource).create(data))
      return { data: readRecords.remember(resource, item) as never }
    },
    update: async (resource, { id, data, previousData }) => {
      const ifMatch = readRecords.etagIfUnchanged(resource, id, previousData)
      const item = await translated(collectionOf(resource).update(id, changesOf(data, previousData), { ifMatch }))
      return { data: readRecords.remember(resource, item) as never }
    },
    delete: async (resource, { id, previousData }) => {
      await translated(
        collectionOf(resource).delete(id, { ifMatch: readRecords.etagIfUnchanged(resource, id, previousData) }),
      )
      return { data: (previousData ?? { id }) as never }
    },
    updateMany: async (resource, { ids, data }) => {
      await translated(many.update(resource, ids, data))
      return { data: [...ids] }
    },
    deleteMany: async (resource, { ids }) => {
      await translated(many.delete(resource, ids))
      return { data: [...ids] }
    },
  }
}

/** Converts filters of react-admin into those of the service. @param path prefix of the names, such as `country__` */
function filtersOf(filter: Values = {}, path = ''): Values {
  return Object.fromEntries(
    Object.entries(filter).flatMap(([key, value]) => {
      if (value === undefined) return []
      if (path === '' && (key === 'or' || key === 'and') && Array.isArray(value)) {
        return [[key, value.map((filters: Values) => filtersOf(filters))]]
      }
      if (path === '' && key === 'not') return [[key, filtersOf(value as Values)]]
      const name = path + fieldNameOf(key)
      const [, base] = /^(.+)__contains$/.exec(name) ?? []
      if (base !== undefined) return [[`${base}__ilike`, containing(String(value))]]
      if (value === null) return [[`${name}__is`, 'null']]
      if (Array.isArray(value)) return [[name.endsWith('__in') ? name : `${name}__in`, value]]
      if (typeof value !== 'object' || value instanceof Date) return [[name, value]]
      return Object.entries(filtersOf(value as Values, `${name}__`))
    }),
  )
}
