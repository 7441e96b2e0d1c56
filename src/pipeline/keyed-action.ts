import type { DbTransaction } from '../connection/db-session'
import { ApiError, FieldErrors } from '../errors'
import { parseKey } from '../query/item-query'
import { readItemsInOrder } from '../read/select'
import type { Body, Payload } from '../request/body'
import { maxBodyLevels, requireFewValues } from '../request/body-values'
import { badIdempotencyKey, digestOfBody, parseIdempotencyKey } from '../request/idempotency-key'
import type { ImportFile } from '../request/import-records'
import type { HttpResponse } from '../response/http-response'
import type { ResourceView } from '../schema/resource-view'
import { refuseWrite } from '../write/refuse-write'
import { withPasswordsHashed } from './body-passwords'
import { type Idempotency, type KeyedResponse, runOnce, secretResponse } from './idempotency'
import { recordsOfImport } from './import'
import { prepareWriteIncludes } from './included-item'
import { segmentOfKey } from './key-segment'
import { callRelatedRules } from './related-rules'
import type { Action, BodyAction, HandleBody, PermittedRequest, Service } from './service'
import { maxBodyBytes, readBodies, receivePayload, writtenSegment } from './write-body'
import { created, type ReceivedRecords, startTimeLimit } from './write-records'

/** Methods that accept the header `Idempotency-Key`. The others have the same effect when they are repeated. */
const keyedMethods: ReadonlySet<string> = new Set(['POST', 'PATCH'])

/** Whether a request has a header `Idempotency-Key` that applies to its method. */
export function isKeyed({ method, headers }: Pick<PermittedRequest, 'method' | 'headers'>): boolean {
  return headers['idempotency-key'] !== undefined && keyedMethods.has(method)
}

/**
 * Prepares the action of a request with the header `Idempotency-Key`, which runs once for each key and principal
 * (specification: Idempotency keys). It runs when the body has arrived, so that a slow client does not keep its transaction open.
 * @throws {ApiError} `bad-idempotency-key`, `idempotency-key-in-use`, `idempotency-key-reused`, `not-found`, and those of
 * the action
 */
export async function prepareKeyed(
  service: Service,
  request: PermittedRequest,
  action: Action | BodyAction,
): Promise<HandleBody> {
  const { store, method, segment, headers } = request
  const idempotency = requireIdempotency(service)
  const key = parseIdempotencyKey(String(headers['idempotency-key']))
  if (store.view.apiKey !== undefined && method === 'POST') throw badIdempotencyKey(secretResponse)
  // The action adds no related records in a transaction. They are not stored: the principal may see others when the
  // response is sent again.
  const including = await prepareWriteIncludes(service, request)
  // The checks that do not need the body. They run again in the transaction, where the action needs another session.
  // Restoring has no body, so calling it here would already write.
  if (!request.restores) {
    await action(service, request)
    await callRelatedRules(request)
  }
  return async (file) => {
    const payload = await payloadOf(service, request, file)
    // Also for a repeated request: its key is looked up in the transaction.
    const hashed = await withPasswordsHashed(service, request, () => bodiesOf(service, request, file))
    const run = async (transaction: DbTransaction): Promise<HttpResponse> => {
      const outcome = await action(service, { ...hashed, session: transaction })
      return typeof outcome === 'function' ? outcome(file) : outcome
    }
    const { response, isReplay } = await runKeyed(service, request, idempotency, key, payload, run)
    // Since the response was stored, others may have changed the relations of the record.
    if (isReplay && !(await request.mayRead(request.resource.name))) return response
    return including(response, parseKey(store.view, writtenSegment(response.headers) ?? segment ?? ''))
  }
}

/** The bodies of a request, which are parsed again in its transaction. A request to restore a record has none. */
function bodiesOf(
  service: Service,
  request: PermittedRequest,
  file: ImportFile | undefined,
): ReceivedRecords | Promise<readonly { readonly body: Body }[]> {
  if (file !== undefined) {
    return recordsOfImport(service, request, file)(new FieldErrors(), startTimeLimit(service.limits))
  }
  return request.restores ? [] : readBodies(service, request).then((read) => [read].flat().map((body) => ({ body })))
}

/** The body of a request, or for an import its digest. @throws {ApiError} `bad-body`, and those of `receivePayload` */
async function payloadOf(service: Service, request: PermittedRequest, file: ImportFile | undefined): Promise<Payload> {
  if (file !== undefined) return digestOfBody(String(request.headers['content-type']), file.read())
  const payload = await receivePayload(request, maxBodyBytes(service, request))
  requireSmall(service, request, payload)
  return payload
}

/**
 * Limits the values and levels of a body that is parsed already. They are checked before the fingerprint of the request is
 * computed: `JSON.stringify` is recursive, and exceeds the stack for a few thousand levels.
 * @throws {ApiError} `bad-body`
 */
function requireSmall({ limits }: Service, { resource, method }: PermittedRequest, payload: Payload): void {
  if (!('parsed' in payload) || typeof payload.parsed !== 'object' || payload.parsed === null) return
  const isArray = Array.isArray(payload.parsed) && method === 'POST' && resource.bulk > 0
  requireFewValues(payload.parsed, isArray ? limits.bulkValues : limits.bodyValues, { maxLevels: maxBodyLevels })
}

async function runKeyed(
  service: Service,
  request: PermittedRequest,
  idempotency: Idempotency,
  key: string,
  payload: Payload,
  run: (transaction: DbTransaction) => Promise<HttpResponse>,
): Promise<KeyedResponse> {
  const { store, session, method, collection, segment = '', querystring } = request
  const { view } = store
  const { response, isReplay } = await runOnce(idempotency, {
    request: { key, method, path: `${collection}${segment}`, querystring, payload, view: readableFields(view) },
    session,
    stores: [store],
    limits: service.limits,
    responseMemory: request.responseMemory,
    run,
    refuse: (error) => refuseWrite(error, session, store, created),
  })
  if (isReplay && !(await areVisible(request, keysOf(request, response)))) {
    throw notSentAgain('the request', 'its record')
  }
  return { response, isReplay }
}

/**
 * Text that identifies the fields that a principal may read. All mounts and processes of a site share the stored responses,
 * and their options may differ, also before and after a deployment. So it contains the fields instead of the view's
 * `cacheKey`, which is the same for views of other mounts.
 */
export function readableFields({ name, outputFields }: ResourceView): string {
  return JSON.stringify([name, ...outputFields.map((field) => [field.name, field.property])])
}

/** @throws {ApiError} `bad-idempotency-key` if the data source does not have the entity */
export function requireIdempotency({ idempotency }: Service): Idempotency {
  if (idempotency !== undefined) return idempotency
  throw badIdempotencyKey(
    'this service does not store responses, so a repeated request would be executed again: add the entity IdempotencyKey ' +
      'of typeorm-resources to the data source, or send the request without Idempotency-Key',
  )
}

/**
 * Whether the principal may still see the records of a stored response. Without a row scope, the response is sent even if
 * they have been deleted.
 */
export async function areVisible(request: PermittedRequest, keys: readonly unknown[]): Promise<boolean> {
  if (!isRestricted(request)) return true
  const { session, store } = request
  return !(await readItemsInOrder(session, store, keys, 'key')).includes(undefined)
}

/** Whether a row scope, or a policy of the database, may hide records from the principal. */
export function isRestricted({ store, session }: PermittedRequest): boolean {
  return store.view.rowScope !== undefined || session.settings !== undefined
}

/**
 * The refusal to send a stored response. It says that the first request was executed: after other refusals, clients may
 * conclude that nothing was written.
 * @param request what was executed
 * @param record what the principal cannot see any more
 */
export function notSentAgain(request: string, record: string): ApiError {
  const detail = `${request} with this Idempotency-Key was executed earlier, but you cannot see ${record} any more; nothing was written now`
  return new ApiError('not-found', detail)
}

/** The keys of the records in a response. */
export function keysOf(request: PermittedRequest, response: HttpResponse): readonly unknown[] {
  return segmentsOf(request, response).map((segment) => parseKey(request.store.view, segment))
}

/** The last segments of the paths of the records in a response. */
function segmentsOf({ segment }: PermittedRequest, response: HttpResponse): readonly string[] {
  const own = writtenSegment(response.headers) ?? segment
  if (own !== undefined) return [own]
  if (response.body === '') return []
  const { objects = [] } = JSON.parse(response.body) as { readonly objects?: readonly { readonly id: unknown }[] }
  return objects.map(({ id }) => segmentOfKey(id))
}
