import type { Principal } from '../access/rule'
import { readFromReplica } from '../connection/replica'
import { retryOnce } from '../connection/retry'
import { ApiError, FieldErrors } from '../errors'
import { parseInsert } from '../query/change-set'
import { invalidCursorMessage, parseListQuery } from '../query/list-query'
import { ownerKey } from '../query/owner'
import { afterLoad } from '../read/after-load'
import { preconditionFailed, renderStoredRaw } from '../read/entity-tag'
import { jsonRendererOf } from '../read/json-value'
import { areCursorValues } from '../read/keyset'
import { bytesOf } from '../read/measure'
import { recordRenderer } from '../read/record'
import { rowReaderOf } from '../read/row'
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
import type { WrittenRecord } from '../write/writer'
import { readItem } from './budget'
import { notFound, requireWriteTarget } from './found'
import { hashPasswords } from './hash-passwords'
import { fetchPage } from './page'
import type { ResourceRequest, Service } from './service'
import { readAndUpdate, updateInOneStatement } from './update'

/** Handles one HTTP method. It runs after the checks of the access rule. */
export type Action = (service: Service, request: ResourceRequest, principal: Principal) => Promise<HttpResponse>

export const list: Action = async (service, { resource, session, querystring, collection, held: responseMemory }) => {
  const errors = new FieldErrors()
  const request = parseListRequest(querystring, resource.optionalParameters, service.limits, errors)
  const query = parseListQuery(resource, request, service, errors)
  const { values } = query.cursor ?? {}
  if (values !== undefined && !areCursorValues(session.dataSource, query, values))
    errors.add('after', invalidCursorMessage)
  errors.raise('bad-query')
  try {
    const page = await readFromReplica(session, (readSession) =>
      fetchPage(service, readSession, query, request, responseMemory),
    )
    return jsonResponse(200, renderEnvelope(resource, request, page, collection))
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, query))) throw error
    throw new ApiError('bad-query', 'the database cannot read the value of a filter, or of "after"')
  }
}

export const create: Action = async (service, request, principal) => {
  const { resource, session, collection } = request
  const body = await readBody(service, request)
  const saved = await retryOnce(session, async () => {
    const errors = new FieldErrors()
    const changes = parseInsert(resource, body, ownerKey(resource, principal), errors)
    await validateChanges(resource, undefined, changes, errors)
    await requireReferences(session, resource, { changes, stored: undefined }, errors)
    return insertRow(session, resource, await hashPasswords(service, request, principal, changes))
  })
  // A comma separates the values of a composite key. It need not be encoded in a path.
  const key = jsonRendererOf(resource.key, resource, session.dataSource)(saved.raw)
  const segment = encodeURIComponent(String(key)).replaceAll('%2C', ',')
  return savedResponse(201, saved, { Location: `${collection}${segment}/` })
}

export const read: Action = async ({ limits }, request) => {
  const { resource, session, headers, held: responseMemory } = request
  const { dataSource } = session
  const raw = await readFromReplica(session, (readSession) => readItem(readSession, request, limits))
  const { json, tag } = renderStoredRaw(resource, dataSource, raw)
  if (!holdsIfMatch(headers['if-match'], tag)) throw preconditionFailed(resource)
  if (!holdsIfNoneMatch(headers['if-none-match'], tag)) return notModifiedResponse(tag)
  if (!resource.lifecycle.load) return jsonResponse(200, json, { ETag: tag })
  // Listeners may be slow: the memory of a long row is counted while they run.
  const bytes = bytesOf(raw)
  if (bytes >= minCountedLength) responseMemory().reserve(bytes)
  const row = rowReaderOf(resource.columns, dataSource)(raw)
  const [loaded = row] = await afterLoad(session, resource, [row])
  return jsonResponse(200, JSON.stringify(recordRenderer(resource)(loaded)), { ETag: tag })
}

export const update: Action = async (service, request, principal) => {
  const { session } = request
  const body = await readBody(service, request)
  const updated = await retryOnce(
    session,
    async () =>
      (await updateInOneStatement(request, principal, body)) ?? readAndUpdate(service, request, principal, body),
  )
  if (updated === undefined) throw notFound(request)
  return savedResponse(200, updated)
}

export const remove: Action = async (_, request, principal) => {
  const { resource, session } = request
  const isRemoved = await retryOnce(session, async () => {
    const { target } = await requireWriteTarget(request, principal)
    return deleteRow(session, resource, target)
  })
  if (!isRemoved) throw notFound(request)
  return emptyResponse()
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
  if (size >= minCountedLength) request.held().reserve(size)
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
