import { toLoggable } from '../connection/database-error'
import type { readFromReplica } from '../connection/replica'
import { isInTransaction } from '../connection/statement'
import { emitError } from '../emit-error'
import { ApiError, FieldErrors } from '../errors'
import { parseKey } from '../query/item-query'
import { parseListQuery } from '../query/list-query'
import { withKeys } from '../query/query'
import type { Store } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { type ItemRequest, oneRecord } from '../request/item-request'
import type { HttpResponse } from '../response/http-response'
import { requireIncludable } from './include-permission'
import { siblingPathOf } from './included-links'
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
 * @returns the JSON of the record; undefined if there is none
 */
export type ReadIncludedItem = (key?: unknown, shared?: SharedReading) => Promise<string | undefined>

/** What the parts of a response share while their related records are read. */
export type SharedReading = Required<Pick<PageReading, 'included' | 'responseMemory'>>

/** What {@link parseIncludedItem} parses. */
export interface IncludedItem {
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
  { itemRequest, shownStore, errors, readFrom }: IncludedItem,
): Promise<ReadIncludedItem> {
  const { store, session, segment = '', collection, responseMemory } = request
  const { limits, cursorTokens } = service
  const listRequest = { ...oneRecord, ...itemRequest }
  const query = parseListQuery(store.view, listRequest, service, errors)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  if (query.inclusion !== undefined) await requireIncludable(request, query.inclusion)
  const pathOf = siblingPathOf(collection)
  return async (key = parseKey(store.view, segment), shared) => {
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
}

/**
 * Adds the included records to the response to a write.
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
  const readIncluded = await parseIncludedItem(service, request, {
    itemRequest: included,
    shownStore: store,
    errors: new FieldErrors(),
    // A replica may not have the record yet.
    readFrom: (primary, readRecord) => readRecord(primary),
  })
  return async (response, key, shared) => {
    try {
      // The ETag remains that of the plain record, to which `If-Match` refers.
      return { ...response, body: (await readIncluded(key, shared)) ?? response.body }
    } catch (error) {
      // The write is done, so its response must not be an error, for example because the related records are too many.
      if (!(error instanceof ApiError)) emitError(context.app, toLoggable(error, session.dataSource), context)
      return response
    }
  }
}
