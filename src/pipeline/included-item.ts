import { toLoggable } from '../connection/database-error'
import { readFromReplica } from '../connection/replica'
import { ApiError, FieldErrors } from '../errors'
import { parseKey } from '../query/item-query'
import { parseListQuery } from '../query/list-query'
import { type ListQuery, rootAlias } from '../query/query'
import type { Store } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { type ItemRequest, parseItemRequest } from '../request/list-request'
import type { HttpResponse } from '../response/http-response'
import { requireIncludable } from './include-permission'
import { siblingPathOf } from './included-links'
import { readPageRows } from './limited-read'
import { renderPage } from './page'
import { toText } from './render-records'
import type { PermittedRequest, Service } from './service'

/**
 * Reads the record of an item path with the related records that it includes.
 * @param key key of the record. Default: that of the path
 * @returns the JSON of the record; undefined if there is none
 */
export type ReadIncludedItem = (key?: unknown) => Promise<string | undefined>

/**
 * Parses the includes of a request on an item. The record is read like a list of one record.
 * @param shownStore store that reads the selected fields
 * @param errors errors of the query string so far
 * @param readFrom chooses the server to read from
 * @throws {ApiError} `bad-query`, `forbidden`
 */
export async function parseIncludedItem(
  service: Service,
  request: PermittedRequest,
  { fields, includes, cacheKey }: ItemRequest,
  shownStore: Store,
  errors: FieldErrors,
  readFrom = readFromReplica,
): Promise<ReadIncludedItem> {
  const { store, session, segment = '', collection, responseMemory } = request
  const { limits, cursorTokens } = service
  const listRequest = { ...oneRecord, fields, includes, cacheKey }
  const query = parseListQuery(store.view, listRequest, service, errors)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  if (query.inclusion !== undefined) await requireIncludable(request, query.inclusion)
  const pathOf = siblingPathOf(collection)
  return async (key = parseKey(store.view, segment)) => {
    if (key === undefined) return undefined
    const itemQuery = withKey(query, key)
    try {
      return await readFrom(session, async (readSession) => {
        const reading = { session: readSession, store: shownStore, limits, cursorTokens, responseMemory, pathOf }
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

/** List request for one record. */
const oneRecord = {
  filters: [],
  where: [],
  ordering: [],
  limit: 1,
  page: 1,
  after: undefined,
  count: undefined,
  search: [],
  aggregation: undefined,
  format: undefined,
  repeated: '',
}

function withKey(query: ListQuery, key: unknown): ListQuery {
  const { view, where, values } = query
  const hasKey = {
    type: 'compare',
    on: { alias: rootAlias, field: view.key },
    operator: 'eq',
    valuesIndex: values.length,
  } as const
  return {
    ...query,
    where: { type: 'and', conditions: [hasKey, where] },
    values: [...values, [key]],
    ordering: [],
    cursor: undefined,
  }
}

/**
 * Parses the includes of a write, before anything is written.
 * @returns a function that adds the included records to the response to the write
 * @throws {ApiError} `bad-query`, `forbidden`
 */
export async function parseWriteIncludes(
  service: Service,
  request: PermittedRequest,
): Promise<(response: HttpResponse, key: unknown) => Promise<HttpResponse>> {
  const { store, session, context } = request
  const errors = new FieldErrors()
  const { includes, cacheKey } = parseItemRequest(
    request.querystring,
    store.view.optionalParameters,
    service.limits,
    errors,
  )
  errors.raise('bad-query')
  if (includes.length === 0) return async (response) => response
  const readIncluded = await parseIncludedItem(
    service,
    request,
    { fields: undefined, includes, cacheKey },
    store,
    errors,
    // A replica may not have the record yet.
    (primary, readRecord) => readRecord(primary),
  )
  return async (response, key) => {
    try {
      // The ETag remains that of the plain record, to which `If-Match` refers.
      return { ...response, body: (await readIncluded(key)) ?? response.body }
    } catch (error) {
      // The write is done, so its response must not be an error, for example because the related records are too many.
      if (!(error instanceof ApiError)) context.app.emit('error', toLoggable(error, session.dataSource), context)
      return response
    }
  }
}
