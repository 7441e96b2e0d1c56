import { toLoggable } from '../connection/database-error'
import type { readFromReplica } from '../connection/replica'
import { isInTransaction } from '../connection/statement'
import { emitError } from '../emit-error'
import { ApiError, FieldErrors } from '../errors'
import { parseKey } from '../query/item-query'
import { parseListQuery } from '../query/list-query'
import { type Inclusion, withKeys } from '../query/query'
import type { JsonRecord } from '../read/record'
import type { Store } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { type ItemRequest, oneRecord } from '../request/item-request'
import type { HttpResponse } from '../response/http-response'
import type { ResourceView } from '../schema/resource-view'
import { requireIncludable } from './include-permission'
import { siblingPathOf } from './included-links'
import { memberAt, memberSetter } from './included-rows'
import { readPageRows } from './limited-read'
import { renderPage } from './page'
import type { PageReading } from './page-reading'
import { toText } from './render-records'
import type { PermittedRequest, Service } from './service'

/**
 * Reads the record of an item path with the related records that it includes.
 * @param key key of the record. Default: that of the path
 * @param shared what the reading shares with the rest of a response of which the record is a part. Default: the record is
 * the whole response
 * @param toShown returns what is shown of the record with its included records. Default: all of it
 * @returns the JSON of the record; undefined if there is none
 */
type ReadIncludedItem = (
  key?: unknown,
  shared?: SharedReading,
  toShown?: PageReading['toShown'],
) => Promise<string | undefined>

/** What the parts of a response share while their related records are read. */
export type SharedReading = Required<Pick<PageReading, 'included' | 'responseMemory'>>

/** An item path whose record is read with related records. */
interface IncludedItem {
  readonly inclusion: Inclusion
  readonly read: ReadIncludedItem
}

/** What {@link parseIncludedItem} parses. */
interface IncludedItemRequest {
  readonly itemRequest: ItemRequest
  /** Store that reads the selected fields. */
  readonly shownStore: Store
  /** Errors of the query string so far. */
  readonly errors: FieldErrors
  /** Chooses the server to read from. */
  readonly readFrom: typeof readFromReplica
}

/**
 * Parses the includes of a request on an item. The record is read like a list of one record.
 * @throws {ApiError} `bad-query`, `forbidden`
 */
export async function parseIncludedItem(
  service: Service,
  request: PermittedRequest,
  { itemRequest, shownStore, errors, readFrom }: IncludedItemRequest,
): Promise<IncludedItem> {
  const { store, session, segment = '', collection, responseMemory } = request
  const { limits, cursorTokens } = service
  const listRequest = { ...oneRecord, ...itemRequest }
  const query = parseListQuery(store.view, listRequest, service, errors)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  const { inclusion } = query
  if (inclusion === undefined) throw new Error('the request includes nothing')
  await requireIncludable(request, inclusion)
  const pathOf = siblingPathOf(collection)
  const read: ReadIncludedItem = async (key = parseKey(store.view, segment), shared, toShown) => {
    if (key === undefined) return undefined
    const itemQuery = { ...withKeys(query, [key]), ordering: [], cursor: undefined }
    try {
      return await readFrom(session, async (readSession) => {
        const reading = {
          session: readSession,
          store: shownStore,
          limits,
          cursorTokens,
          responseMemory,
          pathOf,
          ...shared,
          ...(toShown && { toShown }),
        }
        const page = await readPageRows(reading, itemQuery)
        return page.rows.length === 0 ? undefined : toText(await renderPage(reading, page))
      })
    } catch (error) {
      // There is no record with an id that the database cannot read.
      if (await isCausedByQueryValue(error, session, store, itemQuery)) return undefined
      throw error
    }
  }
  return { inclusion, read }
}

/**
 * Adds the included records to the response to a write. The members of the record itself stay those of the response.
 * @param key key of the written record
 * @returns the same object if they cannot be read
 */
export type AddIncludes = (response: HttpResponse, key: unknown, shared?: SharedReading) => Promise<HttpResponse>

/** Returns the response unchanged: the value for a write whose response includes no records. */
export const withoutIncludes: AddIncludes = async (response) => response

/**
 * Prepares the includes of a write, before anything is written.
 * @returns {@link withoutIncludes} if the response includes no records
 * @throws {ApiError} `bad-query`, `forbidden`
 */
export async function prepareWriteIncludes(service: Service, request: PermittedRequest): Promise<AddIncludes> {
  const { store, session, context, parameters } = request
  const { included } = parameters
  if (included.includes.length === 0) return withoutIncludes
  // In a transaction of the caller, an error of this read would fail the transaction. The caller adds the records afterwards.
  if (isInTransaction(session)) return async (response) => response
  const { inclusion, read } = await parseIncludedItem(service, request, {
    itemRequest: included,
    shownStore: store,
    errors: new FieldErrors(),
    // A replica may not have the record yet.
    readFrom: (primary, readRecord) => readRecord(primary),
  })
  return async (response, key, shared) => {
    try {
      const body = await read(key, shared, (record) => withIncluded(store.view, response.body, record, inclusion))
      // The ETag remains that of the plain record, to which `If-Match` refers.
      return { ...response, body: body ?? response.body }
    } catch (error) {
      // The write is done, so its response must not be an error, for example because the related records are too many.
      if (!(error instanceof ApiError)) emitError(context.app, toLoggable(error, session.dataSource), context)
      return response
    }
  }
}

/**
 * Adds the included members of a record to the same record as it was written. The record that was read with them may be newer: later
 * operations of a batch and other requests may have changed it. A related record is left out if the foreign key refers to another one now.
 * @param body JSON of the record as it was written
 */
function withIncluded(view: ResourceView, body: string, record: JsonRecord, { records, lists }: Inclusion): JsonRecord {
  const written = JSON.parse(body) as JsonRecord
  const add = (path: readonly string[], suffix = ''): void => {
    const value = memberAt(record, path, suffix)
    if (value !== undefined) memberSetter(path, suffix)(written, value)
  }
  for (const { path } of records) {
    const foreignKey = view.fields.get(path.join('__'))?.name.split('__').at(-1)
    const keyIn = (one: JsonRecord): unknown => foreignKey && memberAt(one, [...path.slice(0, -1), foreignKey])
    if (keyIn(written) === keyIn(record)) add(path)
  }
  for (const { path } of lists) for (const suffix of ['', '_next', '_total']) add(path, suffix)
  return written
}
