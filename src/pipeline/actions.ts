import { generateApiKey, type NewApiKey } from '../access/api-keys/api-key'
import type { Principal } from '../access/rule'
import { readFromReplica } from '../connection/replica'
import { retryOnce } from '../connection/retry'
import { ApiError, FieldErrors } from '../errors'
import { parseInsert } from '../query/change-set'
import { parseFieldSelection } from '../query/field-selection'
import { invalidCursorMessage, parseListQuery } from '../query/list-query'
import { ownerKey } from '../query/owner'
import { type Presets, presetsOf } from '../query/presets'
import type { ChangeSet } from '../query/query'
import { areCursorValues } from '../read/keyset'
import { narrowStore } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { type Body, parseBody } from '../request/body'
import { acceptedFormat } from '../request/formats'
import { parseListRequest } from '../request/list-request'
import { renderEnvelope } from '../response/envelope'
import { minCountedLength } from '../response/held-bytes'
import { emptyResponse, type HttpResponse, jsonResponse, varyingByAccept } from '../response/http-response'
import { listResponse } from '../response/list-response'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { listParametersOf } from '../schema/search-fields'
import { requireReferences } from '../write/references'
import { validateChanges } from '../write/validate'
import { deleteRow, insertRow } from '../write/write'
import type { WrittenRecord } from '../write/write-store'
import { respondGroups } from './aggregate-page'
import { hashPasswords } from './hash-passwords'
import { requireIncludable } from './include-permission'
import { parseWriteIncludes } from './included-item'
import { siblingPathOf } from './included-links'
import { notFound, requireWriteTarget } from './item'
import { respondStream } from './list-stream'
import { readListPage } from './page'
import type { Action, PermittedRequest, ResourceRequest, Service } from './service'
import { readAndUpdate, updateInOneStatement } from './update'

export const list: Action = async (service, permitted) => {
  const { store: fullStore, session, querystring, headers, collection, responseMemory, context } = permitted
  const { view } = fullStore
  const { limits, cursorTokens } = service
  const errors = new FieldErrors()
  const { formats: offered } = view
  const accepted = acceptedFormat(headers.accept, offered, (...types) => context.accepts(types))
  const request = parseListRequest(querystring, listParametersOf(view), limits, errors, { offered, accepted })
  const { aggregation, format } = request
  if (aggregation !== undefined) return respondGroups(service, permitted, request, aggregation, errors)
  const query = parseListQuery(view, request, service, errors)
  const store = narrowStore(fullStore, parseFieldSelection(view, request.fields, errors))
  const { values } = query.cursor ?? {}
  if (values !== undefined && !areCursorValues(store, query, values)) errors.add('after', invalidCursorMessage)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  if (query.inclusion !== undefined) await requireIncludable(permitted, query.inclusion)
  const pathOf = siblingPathOf(collection)
  try {
    if (format !== undefined) {
      return await respondStream(service, permitted, store, { ...query, limit: request.limit }, format)
    }
    const page = await readFromReplica(session, (readSession) =>
      readListPage({ session: readSession, store, limits, cursorTokens, responseMemory, pathOf }, query, request),
    )
    const response = listResponse(renderEnvelope(view, request, page, collection), headers['if-none-match'])
    return offered.length === 0 ? response : varyingByAccept(response)
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, store, query))) throw error
    throw new ApiError('bad-query', 'the database cannot read the value of a filter, or of "after"')
  }
}

export const create: Action = async (service, request) => {
  const { store, session, collection, principal } = request
  const { view } = store
  const including = await parseWriteIncludes(service, request)
  const body = await readBody(service, request)
  if (store.policies?.permits(view, 'create') === false) {
    throw new ApiError('forbidden', `you may not create this ${view.name}`)
  }
  // Called once, not for each attempt: the function of the application may return another date or number.
  const presets = presetsOf(view, store.policies)
  requireUserOfApiKey(view, principal, presets)
  const apiKey = view.apiKey && generateApiKey()
  const saved = await retryOnce(session, async () => {
    const errors = new FieldErrors()
    const parsed = parseInsert(view, body, ownerKey(view, principal), presets, errors)
    const values = withApiKey(view, parsed, apiKey)
    await validateChanges(view, undefined, values, errors)
    const change = { action: 'create', values, stored: undefined, presets: presets.values } as const
    await requireReferences(session, store, change, errors)
    return insertRow(session, store, { ...change, values: await hashPasswords(service, request, values) })
  })
  // A comma separates the values of a composite key. It need not be encoded in a path.
  const segment = encodeURIComponent(String(store.renderKey(saved.raw))).replaceAll('%2C', ',')
  const response = await including(
    savedResponse(201, saved, { Location: `${collection}${segment}/` }),
    store.readKey(saved.raw),
  )
  return apiKey === undefined ? response : showApiKey(response, apiKey)
}

/**
 * Requires that a preset that decides whose API keys are created sets the user, unless an administrator creates one. The
 * mount cannot know what the function returns.
 * @throws {TypeError} for a mistake of the application, with which users could create keys of others
 */
function requireUserOfApiKey(view: ResourceView, { admin }: Principal, { overriding }: Presets): void {
  const { apiKey: fields, preset, may, rule, owner, name, writableFields } = view
  const isDecided = preset === undefined || may.create !== undefined || rule.needs === 'admins' || admin === true
  if (fields === undefined || isDecided) return
  const isUser = ({ columns }: Field): boolean => columns.some(({ column }) => fields.user.includes(column))
  const open = [...writableFields.values()].filter((field) => isUser(field) && field.insertable && field !== owner)
  if (open.every((field) => overriding.has(field))) return
  throw new TypeError(`the preset of ${name} must set the user of a key, because its creator could choose any user`)
}

/** Adds the prefix and the hash of a new API key, whatever presets say. */
function withApiKey({ apiKey: fields }: ResourceView, changes: ChangeSet, apiKey: NewApiKey | undefined): ChangeSet {
  if (fields === undefined || apiKey === undefined) return changes
  // The fields of a preset are other objects with the same columns.
  const isOwn = ({ columns }: Field): boolean =>
    [fields.prefix, fields.hash].some(({ columns: [own] }) => columns.some(({ column }) => column === own?.column))
  const others = [...changes].filter(([field]) => !isOwn(field))
  return new Map([...others, [fields.prefix, apiKey.prefix], [fields.hash, apiKey.hash]])
}

/** Adds a new API key to the response that has created it, the only one that shows it. No cache may store it. */
function showApiKey(response: HttpResponse, { key }: NewApiKey): HttpResponse {
  const body = `${response.body.slice(0, -1)},"key":${JSON.stringify(key)}}`
  return { ...response, body, cacheControl: 'no-store' }
}

export const update: Action = async (service, request) => {
  const including = await parseWriteIncludes(service, request)
  const body = await readBody(service, request)
  const updated = await retryOnce(
    request.session,
    async () => (await updateInOneStatement(request, body)) ?? readAndUpdate(service, request, body),
  )
  if (updated === undefined) throw await refusalOf(request, 'update')
  return including(savedResponse(200, updated), request.store.readKey(updated.raw))
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
