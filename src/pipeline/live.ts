import { AsyncResource } from 'node:async_hooks'
import type { Readable } from 'node:stream'
import { apiKeyScheme } from '../access/api-keys/api-key-authenticator'
import { schemeOf } from '../access/authenticator'
import { clientName } from '../access/client-network'
import { RequestAuthentication } from '../access/request-authentication'
import { transientErrorOf } from '../connection/database-error'
import type { DbSession } from '../connection/db-session'
import { pause } from '../connection/pauses'
import { ApiError, FieldErrors } from '../errors'
import type { LiveLists } from '../live/live-lists'
import { type LiveSource, type ReceiveRecord, tooManyRecords } from '../live/live-source'
import type { Subscriber } from '../live/subscriptions'
import { withDeletedParameter } from '../query/deleted-parameter'
import { parseFieldSelection } from '../query/field-selection'
import { parseKey, parseKeyText } from '../query/item-query'
import { parseListQuery } from '../query/list-query'
import { type ListQuery, withKeys } from '../query/query'
import { relatedTables } from '../read/related-tables'
import { readRaw } from '../read/select'
import { narrowStore, type Store } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { preferredType } from '../request/accept'
import { splitRecords } from '../request/body-values'
import { oneRecord, parseItemRequest } from '../request/item-request'
import { parseLiveListRequest } from '../request/list-request'
import type { ListPage } from '../response/envelope'
import { buildResponseMemory, type ResponseMemory } from '../response/held-bytes'
import type { HttpResponse } from '../response/http-response'
import { listParametersOf } from '../schema/search-fields'
import { requireIncludable } from './include-permission'
import { siblingPathOf } from './included-links'
import { notFound } from './item'
import { readPageRows } from './limited-read'
import { liveKey } from './live-key'
import { renderPage } from './page'
import type { PageReading } from './page-reading'
import { requireAccess } from './require-access'
import { type PermittedRequest, permit, type Service } from './service'

const eventType = 'text/event-stream'

/** Whether a GET on a list or an item subscribes to its changes: its header `Accept` prefers events to JSON. */
export function wantsEvents({ method, headers, context }: PermittedRequest): boolean {
  if (method !== 'GET' || !headers.accept?.toLowerCase().includes(eventType)) return false
  return preferredType(context, ['application/json', eventType]) === eventType
}

/**
 * Responds with the changes of a list or an item, as server-sent events (specification: Live lists).
 * @throws {ApiError} `bad-query`, `forbidden`, `not-found`, `too-many-live-lists`, `unavailable`
 */
export async function respondLive(service: Service, live: LiveLists, request: PermittedRequest): Promise<HttpResponse> {
  const { headers, principal, context, session } = request
  const source = await buildSource(service, request)
  const isAnonymous = principal.id === null
  const { res } = context
  const disconnected = new Promise<void>((resolve) => {
    // With HTTP/2, only `res.stream` is marked as destroyed.
    if (res.destroyed || (res as { stream?: Readable }).stream?.destroyed) resolve()
    else res.once('close', resolve)
  })
  const subscriber: Subscriber = {
    client: clientName(request.session),
    userId: isAnonymous ? undefined : String(principal.id),
    hasApiKey: schemeOf(headers.authorization ?? '') === apiKeyScheme.toLowerCase(),
    credentialChanges: request.authentication.credentialChanges,
    memory: request.responseMemory(),
    lastId: headers['last-event-id']?.toString(),
    disconnected,
    check: async () => {
      try {
        const { key } = await buildSource(service, await readmit(service, request))
        return key === source.key ? 'permitted' : 'refused'
      } catch (error) {
        if (transientErrorOf(error, session.dataSource) === undefined) throw error
        return 'unavailable'
      }
    },
  }
  const stream = await live.subscribe(source, subscriber, ({ size }) => {
    if (request.segment !== undefined && size === 0) throw notFound(request)
  })
  // If the client has disconnected, Koa neither sends the body nor destroys it.
  void disconnected.then(() => stream.destroy())
  return {
    status: 200,
    headers: {
      'Content-Type': `${eventType}; charset=utf-8`,
      // Proxies such as nginx would collect the events otherwise.
      'X-Accel-Buffering': 'no',
    },
    cacheControl: 'no-store, no-transform',
    body: '',
    stream: { readable: stream, done: stream.done },
  }
}

/** Checks the access rule of a request again. */
async function readmit(service: Service, request: PermittedRequest): Promise<PermittedRequest> {
  const authentication = new RequestAuthentication(service.verifyCredentials, request.session, request.context)
  return permit(service, request, authentication, await requireAccess(service, request, authentication))
}

/** The list of a request: its query, and how its records are read. @throws {ApiError} `bad-query`, `forbidden`, `not-found` */
async function buildSource(service: Service, request: PermittedRequest): Promise<LiveSource> {
  const { store: fullStore, session: requestSession, principal } = request
  const { limits } = service
  const { query, store } = await parseSource(service, request)
  // The client that opens a list does not decide when its other clients receive changes.
  const ownSession: DbSession = { ...requestSession, client: undefined, trace: undefined, turnName: 'live lists' }
  const { key, metadata } = store.view
  const { read, passing } = relatedTables(fullStore, query, query.inclusion)
  return {
    key: liveKey(ownSession, store, query, principal, `${request.collection}?${request.querystring}`),
    table: metadata.tablePath,
    relatedTables: read,
    passingTables: passing,
    isItem: request.segment !== undefined,
    maxRecords: limits.liveRecords,
    maxBytes: limits.pageBytes,
    comparesKeysLoosely: key.valueType.name === 'text' && store.dialect.comparesTextLoosely,
    idOf: (id) => key.valueType.toJson(key.valueType.fromText(id)),
    // Listeners of the application run in the asynchronous context of the subscriber, not in that of another request.
    read: AsyncResource.bind(async (...[ids, receive, client]: Parameters<LiveSource['read']>) => {
      const session = { ...ownSession, client }
      await store.policies?.checkAccess(query.guardedViews)
      const found = ids === undefined ? await readKeys(session, store, query, limits.liveRecords) : keysOf(store, ids)
      await withMemory(limits.responseBytes, async (responseMemory) => {
        const { cursorTokens } = service
        const pathOf = siblingPathOf(request.collection)
        const reading = { session, store, limits, cursorTokens, responseMemory, pathOf }
        for (let start = 0; start < found.length; start += batchSize) {
          // Statements of better-sqlite3 are synchronous: without pauses, a long list would block the event loop.
          await pause(session)
          await readRecords(reading, query, found.slice(start, start + batchSize), receive)
        }
      })
    }),
  }
}

/** Number of records that one statement reads. Each statement evaluates the filters of the list anew, so that there must be few. */
const batchSize = 1000

async function parseSource(
  service: Service,
  request: PermittedRequest,
): Promise<{ readonly query: ListQuery; readonly store: Store }> {
  const { store, querystring, segment } = request
  const { view } = store
  const { limits } = service
  const errors = new FieldErrors()
  const optional = segment === undefined ? listParametersOf(view) : view.optionalParameters
  const names = withDeletedParameter(optional, querystring, view, store.policies)
  const listRequest =
    segment === undefined
      ? parseLiveListRequest(querystring, names, limits, errors)
      : { ...oneRecord, ...parseItemRequest(querystring, names, limits, errors) }
  const query = parseListQuery(view, listRequest, service, errors)
  const selection = parseFieldSelection(view, listRequest.fields, errors)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  if (query.inclusion !== undefined) await requireIncludable(request, query.inclusion)
  const narrow = narrowStore(store, selection)
  if (segment === undefined) return { query, store: narrow }
  const key = parseKey(view, segment)
  if (key === undefined) throw notFound(request)
  return { query: withKeys(query, [key]), store: narrow }
}

/** Reads the keys of all records of a list. @throws {ApiError} `bad-query` if they are too many */
async function readKeys(
  session: DbSession,
  store: Store,
  query: ListQuery,
  maxRecords: number,
): Promise<readonly unknown[]> {
  const keyQuery: ListQuery = {
    ...query,
    select: 'key',
    included: [],
    cursor: undefined,
    cacheKey: `${query.cacheKey} keys`,
    limit: maxRecords + 1,
    offset: 0,
  }
  try {
    const rows = await readRaw(session, store, keyQuery)
    if (rows.length > maxRecords) throw tooManyRecords(maxRecords)
    return rows.map(store.readKey)
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, store, keyQuery))) throw error
    throw new ApiError('bad-query', 'the database cannot read the value of a filter')
  }
}

/** Keys without those that no record can have: another site with a table of this name can use the same relay. */
function keysOf({ view }: Store, ids: readonly string[]): readonly unknown[] {
  return ids.map((id) => parseKeyText(view, id)).filter((key) => key !== undefined)
}

/** Reads the records of a list that have some keys. Records that do not fit into one page are read with further statements. */
async function readRecords(
  reading: PageReading,
  query: ListQuery,
  keys: readonly unknown[],
  receive: ReceiveRecord,
): Promise<void> {
  const { renderKey, view } = reading.store
  let remaining = keys
  while (remaining.length > 0) {
    const pageQuery = { ...withKeys(query, remaining), offset: 0, limit: remaining.length + 1 }
    const page = await readPageRows(reading, pageQuery)
    const rendered = await renderPage(reading, page)
    const ids = page.rows.map((row) => String(renderKey(row)))
    let index = 0
    for (const json of textsOf(rendered)) {
      receive(ids[index] ?? '', json)
      index++
      await pause(reading.session)
    }
    if (!page.isCut) return
    const found = new Set(ids)
    remaining = remaining.filter((key) => !found.has(String(view.key.valueType.toJson(key))))
    await pause(reading.session)
  }
}

/** The JSON of each of some records. */
function* textsOf(rendered: ListPage['records']): Generator<string> {
  if (typeof rendered === 'string') yield* splitRecords(`[${rendered}]`)
  else for (const record of rendered) yield JSON.stringify(record)
}

/** Counts the memory of what `work` reads. */
async function withMemory<T>(limit: number, work: (memory: () => ResponseMemory) => Promise<T>): Promise<T> {
  let free = (): void => undefined
  const memory = buildResponseMemory(limit, {
    client: '',
    whenClosed: (release) => {
      free = release
    },
    cutOff: () => undefined,
  })
  try {
    return await work(() => memory)
  } finally {
    free()
  }
}
