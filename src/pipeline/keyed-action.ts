import { parseKey } from '../query/item-query'
import { readItemsInOrder } from '../read/select'
import type { Payload } from '../request/body'
import { badIdempotencyKey, digestOfBody, parseIdempotencyKey } from '../request/idempotency-key'
import type { HttpResponse } from '../response/http-response'
import { refuseWrite } from '../write/refuse-write'
import { parseMatching } from './change-many'
import { requireCreatable } from './create'
import { type Idempotency, runOnce, secretResponse } from './idempotency'
import { importFormat, withSpool } from './import'
import { parseWriteIncludes } from './included-item'
import { notFound } from './item'
import { segmentOfKey } from './key-segment'
import { callRelatedRules } from './related-rules'
import type { Action, PermittedRequest, Service } from './service'
import { maxBodyBytes, writtenSegment } from './write-body'
import { created } from './write-records'

/** Methods that accept the header `Idempotency-Key`. The others have the same effect when they are repeated. */
const keyedMethods: ReadonlySet<string> = new Set(['POST', 'PATCH'])

/** Whether a request has a header `Idempotency-Key` that applies to its method. */
export function isKeyed({ method, headers }: Pick<PermittedRequest, 'method' | 'headers'>): boolean {
  return headers['idempotency-key'] !== undefined && keyedMethods.has(method)
}

/**
 * Runs the action of a request with the header `Idempotency-Key`, once for each key and principal
 * (specification: Idempotency keys). The body is received before the transaction begins.
 * @throws {ApiError} `bad-idempotency-key`, `idempotency-key-in-use`, `idempotency-key-reused`, `not-found`, and those of
 * the action
 */
export async function runKeyed(service: Service, request: PermittedRequest, action: Action): Promise<HttpResponse> {
  const { store, method, segment, headers } = request
  const idempotency = requireIdempotency(service)
  const key = parseIdempotencyKey(String(headers['idempotency-key']))
  if (store.view.apiKey !== undefined && method === 'POST') throw badIdempotencyKey(secretResponse)
  // The action adds no related records in a transaction. They are not stored: the principal may see others when the
  // response is sent again.
  const including = await parseWriteIncludes(service, request)
  if (!request.restores) await callRelatedRules(service, request)
  if (method === 'PATCH' && segment === undefined) await parseMatching(service, request)
  const run = async (received: PermittedRequest, payload: Payload): Promise<HttpResponse> => {
    const response = await runAction(service, received, idempotency, key, payload, action)
    return including(response, parseKey(store.view, writtenSegment(response.headers) ?? segment ?? ''))
  }
  if (method === 'POST' && segment === undefined && importFormat(request) !== undefined) {
    requireCreatable(request)
    return withSpool(service, request, async (spool) =>
      run({ ...request, spool }, await digestOfBody(String(headers['content-type']), spool.read())),
    )
  }
  const payload = await request.readPayload(maxBodyBytes(service, request))
  return run({ ...request, readPayload: async () => payload }, payload)
}

async function runAction(
  service: Service,
  request: PermittedRequest,
  idempotency: Idempotency,
  key: string,
  payload: Payload,
  action: Action,
): Promise<HttpResponse> {
  const { store, session, method, collection, segment = '', querystring } = request
  const { view } = store
  const { response, isReplay } = await runOnce(idempotency, {
    request: { key, method, path: `${collection}${segment}`, querystring, payload, view: view.cacheKey },
    session,
    limits: service.limits,
    run: (transaction) => action(service, { ...request, session: transaction }),
    refuse: (error) => refuseWrite(error, session, store, created),
  })
  if (isReplay) await requireVisible(request, response)
  return response
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
 * Requires that the principal may still see the records of a stored response. Without a row scope, the response is sent
 * even if they have been deleted.
 * @throws {ApiError} `not-found`
 */
export async function requireVisible(request: PermittedRequest, response: HttpResponse): Promise<void> {
  const { store, session } = request
  const isRestricted = store.view.rowScope !== undefined || session.settings !== undefined
  if (!isRestricted) return
  const keys = segmentsOf(request, response).map((segment) => parseKey(store.view, segment))
  const rows = await readItemsInOrder(session, store, keys, 'key')
  if (rows.includes(undefined)) throw notFound(request)
}

/** The last segments of the paths of the records in a response. */
function segmentsOf({ segment }: PermittedRequest, response: HttpResponse): readonly string[] {
  const own = writtenSegment(response.headers) ?? segment
  if (own !== undefined) return [own]
  if (response.body === '') return []
  const { objects = [] } = JSON.parse(response.body) as { readonly objects?: readonly { readonly id: unknown }[] }
  return objects.map(({ id }) => segmentOfKey(id))
}
