import { notPermitted } from '../access/require-principal'
import { readFromReplica } from '../connection/replica'
import { retryOnce } from '../connection/retry'
import { ApiError, FieldErrors } from '../errors'
import { parseInsert } from '../query/change-set'
import { invalidCursorMessage, parseListQuery } from '../query/list-query'
import { ownerKey } from '../query/owner'
import { noPresets } from '../query/policies'
import { afterLoad } from '../read/after-load'
import { renderStored } from '../read/entity-tag'
import { areCursorValues } from '../read/keyset'
import { bytesOf } from '../read/measure'
import { isCausedByQueryValue } from '../read/unreadable'
import { type Body, parseBody } from '../request/body'
import { parseListRequest } from '../request/list-request'
import { holdsIfMatch, holdsIfNoneMatch } from '../request/preconditions'
import { renderEnvelope } from '../response/envelope'
import { minCountedLength } from '../response/held-bytes'
import { emptyResponse, type HttpResponse, jsonResponse, notModifiedResponse } from '../response/http-response'
import { requireReferences } from '../write/references'
import { validateChanges } from '../write/validate'
import { deleteRow, insertRow } from '../write/write'
import type { WrittenRecord } from '../write/write-store'
import { hashPasswords } from './hash-passwords'
import { notFound, preconditionFailed, requireWriteTarget } from './item'
import { readItem } from './limited-read'
import { readListPage } from './page'
import type { PermittedRequest, ResourceRequest, Service } from './service'
import { readAndUpdate, updateInOneStatement } from './update'

/** Handles one HTTP method. It runs after the checks of the access rule. */
export type Action = (service: Service, request: PermittedRequest) => Promise<HttpResponse>

export const list: Action = async (service, { store, session, querystring, collection, responseMemory }) => {
  const { view } = store
  const errors = new FieldErrors()
  const request = parseListRequest(querystring, view.optionalParameters, service.limits, errors)
  const query = parseListQuery(view, request, service, errors)
  const { values } = query.cursor ?? {}
  if (values !== undefined && !areCursorValues(store, query, values)) errors.add('after', invalidCursorMessage)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  try {
    const page = await readFromReplica(session, (readSession) =>
      readListPage(service, readSession, store, query, request, responseMemory),
    )
    return jsonResponse(200, renderEnvelope(view, request, page, collection))
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, store, query))) throw error
    throw new ApiError('bad-query', 'the database cannot read the value of a filter, or of "after"')
  }
}

export const create: Action = async (service, request) => {
  const { store, session, collection, principal } = request
  const { view } = store
  const body = await readBody(service, request)
  if (store.policies?.permits(view, 'create') === false) {
    throw notPermitted(principal, `you may not create this ${view.name}`)
  }
  // Called once, not for each attempt: the function of the application may return another date or number.
  const presets = store.policies?.presetsOf(view) ?? noPresets
  const saved = await retryOnce(session, async () => {
    const errors = new FieldErrors()
    const changes = parseInsert(view, body, ownerKey(view, principal), presets, errors)
    await validateChanges(view, undefined, changes, errors)
    await requireReferences(session, store, { changes, stored: undefined, presets: presets.values }, errors)
    return insertRow(session, store, await hashPasswords(service, request, changes), presets.values)
  })
  // A comma separates the values of a composite key. It need not be encoded in a path.
  const segment = encodeURIComponent(String(store.renderKey(saved.raw))).replaceAll('%2C', ',')
  return savedResponse(201, saved, { Location: `${collection}${segment}/` })
}

export const read: Action = async ({ limits }, request) => {
  const { store, session, headers, responseMemory } = request
  const { view, selected, rawRenderer, rowRenderer } = store
  const raw = await readFromReplica(session, (readSession) => readItem(readSession, request, limits))
  const { json, tag } = renderStored(rawRenderer, raw)
  if (!holdsIfMatch(headers['if-match'], tag)) throw preconditionFailed(view)
  if (!holdsIfNoneMatch(headers['if-none-match'], tag)) return notModifiedResponse(tag)
  if (!view.lifecycle.load) return jsonResponse(200, json, { ETag: tag })
  // Listeners may be slow: the memory of a long row is counted while they run.
  const bytes = bytesOf(raw)
  if (bytes >= minCountedLength) responseMemory().reserve(bytes)
  const row = selected.columns.readRow(raw)
  const [loaded = row] = await afterLoad(session, view, [row])
  return jsonResponse(200, JSON.stringify(rowRenderer.toRecord(loaded)), { ETag: tag })
}

export const update: Action = async (service, request) => {
  const body = await readBody(service, request)
  const updated = await retryOnce(
    request.session,
    async () => (await updateInOneStatement(request, body)) ?? readAndUpdate(service, request, body),
  )
  if (updated === undefined) throw await refusalOf(request, 'update')
  return savedResponse(200, updated)
}

export const remove: Action = async (_, request) => {
  const { store, session } = request
  const isRemoved = await retryOnce(session, async () => {
    const { target } = await requireWriteTarget(request, 'delete')
    return deleteRow(session, store, target)
  })
  if (!isRemoved) throw await refusalOf(request, 'delete')
  return emptyResponse()
}

/**
 * The refusal of a write whose target was deleted, or got another owner or state, after it was checked.
 * @throws {ApiError} the refusal itself, if the record still exists
 */
async function refusalOf(request: PermittedRequest, action: 'update' | 'delete'): Promise<ApiError> {
  await requireWriteTarget(request, action)
  return notFound(request)
}

/**
 * Reads and parses the body of a write. Memory for a response with all of its values is reserved here, because the
 * response must be sent once the write is done.
 * @throws {ApiError} `unavailable`, and the errors of a body that cannot be read
 */
async function readBody({ limits }: Service, request: ResourceRequest): Promise<Body> {
  const payload = await request.readPayload(limits.body)
  // The size of a body that the application's own body parser has read is known only from its `Content-Length`. Without
  // this header, the body counts as the maximum, `limits.body`.
  const declaredSize = Number(request.headers['content-length'] ?? limits.body)
  const size = 'bytes' in payload ? payload.bytes.length : declaredSize
  // Most bodies are too small to be counted.
  if (size >= minCountedLength) request.responseMemory().reserve(size)
  return parseBody(payload, limits)
}

/** Builds the response to a write: the record, and the ETag of the stored values. */
function savedResponse(
  status: 200 | 201,
  { json, tag }: WrittenRecord,
  headers: HttpResponse['headers'] = {},
): HttpResponse {
  return jsonResponse(status, json, { ...headers, ETag: tag })
}
