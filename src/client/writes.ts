import { ResourceError } from './error.ts'
import { matchingQueryOf, type QueryOptions, queryOf } from './query.ts'
import type { MatchingOptions, RequestOptions, WriteOptions } from './request-options.ts'
import type { Page } from './types.ts'

/** The request of a method that writes. */
export interface Write {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly values?: unknown
  readonly options?: WriteOptions | undefined
  /** Converts the JSON of the response into the result of the method. */
  readonly read: (json: never, status: number) => unknown
}

/** Builds the request of a method from its parameters. */
type Build = (collection: string, ...parameters: never[]) => Write
type Values = Readonly<Record<string, unknown>>

const unchanged = (json: unknown): unknown => json

/** Methods of a resource that write. They are not typed by the entity here: `ResourceWrites` has the types. */
const builders: Readonly<Record<string, Build>> = {
  create: (collection, values: Values, options?: QueryOptions) => ({
    method: 'POST',
    url: collection + writeQuery(options),
    values,
    options,
    read: unchanged,
  }),
  createMany: (collection, values: readonly Values[], options?: RequestOptions) => ({
    method: 'POST',
    url: collection,
    values,
    options,
    read: ({ objects }: Page<unknown>) => objects,
  }),
  update: (collection, id: string | number, values: Values, options?: WriteOptions & QueryOptions) => ({
    method: 'PUT',
    url: itemUrl(collection, id) + writeQuery(options),
    values,
    options,
    read: unchanged,
  }),
  updateMany: (collection, filters: object, values: Values, options?: MatchingOptions) => ({
    method: 'PATCH',
    url: collection + matchingQueryOf(filters, options),
    values,
    options,
    read: ({ meta }: { readonly meta: { readonly updated: number } }) => meta.updated,
  }),
  upsert: (collection, values: Values, options: QueryOptions) => ({
    method: 'POST',
    url: collection + upsertQuery(options),
    values,
    options,
    read: (record, status) => ({ record, created: status === 201 }),
  }),
  upsertMany: (collection, values: readonly Values[], options: QueryOptions) => ({
    method: 'POST',
    url: collection + upsertQuery(options),
    values,
    options,
    read: ({ meta, objects }: UpsertedPage) => ({
      created: meta.created,
      updated: meta.updated,
      ids: objects.map(({ id }) => id),
    }),
  }),
  delete: (collection, id: string | number, options?: WriteOptions) => ({
    method: 'DELETE',
    url: itemUrl(collection, id),
    options,
    read: () => undefined,
  }),
  deleteMany: (collection, filters: object, options?: MatchingOptions) => ({
    method: 'DELETE',
    url: collection + matchingQueryOf(filters, options),
    options,
    read: ({ meta }: { readonly meta: { readonly deleted: number } }) => meta.deleted,
  }),
}

/** Response to an upsert of several records. */
interface UpsertedPage {
  readonly meta: { readonly created: number; readonly updated: number }
  readonly objects: readonly { readonly id: unknown }[]
}

function writeQuery({ include, on }: QueryOptions = {}): string {
  return queryOf({}, { include, on })
}

/** Query of an upsert. A missing option becomes an invalid field: without fields, the service would create a record. */
function upsertQuery(options: QueryOptions): string {
  return writeQuery({ ...options, on: String(options.on) })
}

/**
 * The methods of a resource that write.
 * @param collection URL of the collection
 * @param run gets a function that builds the request of a call, and returns the result of the call
 */
export function writeMethods<Result>(
  collection: string,
  run: (build: () => Write) => Result,
): Readonly<Record<string, (...parameters: never[]) => Result>> {
  const methods = Object.entries(builders).map(([name, build]) => [
    name,
    (...parameters: never[]) => run(() => build(collection, ...parameters)),
  ])
  return Object.fromEntries(methods)
}

/**
 * URL of a record.
 * @throws {ResourceError} 404 for the ids "", "." and "..", which would change the path and cannot exist
 */
export function itemUrl(collection: string, id: string | number): string {
  if (/^\.{0,2}$/.test(String(id))) throw new ResourceError(404, undefined, `"${id}" cannot be the id of a record`)
  return `${collection}${encodeURIComponent(id)}/`
}
