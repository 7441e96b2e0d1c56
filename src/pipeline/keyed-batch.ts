import type { DbTransaction } from '../connection/db-session'
import type { Payload } from '../request/body'
import { badIdempotencyKey, parseIdempotencyKey } from '../request/idempotency-key'
import { errorOfOperation } from '../request/operation-error'
import type { HttpResponse } from '../response/http-response'
import { refuseCommit, respondToBatch, runBatch } from './batch'
import type { AdmittedOperation } from './batch-admission'
import { BatchResults } from './batch-results'
import { runOnce, secretResponse } from './idempotency'
import { withoutIncludes } from './included-item'
import { requireIdempotency, requireVisible } from './keyed-action'
import type { Service } from './service'

/** A batch with the header `Idempotency-Key`. */
export interface KeyedBatch {
  /** Value of the header. */
  readonly header: string
  readonly path: string
  readonly querystring: string
  readonly payload: Payload
  readonly operations: readonly AdmittedOperation[]
}

/** Responds to a batch, whose operations run once for each key and principal (specification: Idempotency keys). */
export async function runKeyedBatch(service: Service, batch: KeyedBatch): Promise<HttpResponse> {
  const { header, path, querystring, payload, operations } = batch
  const idempotency = requireIdempotency(service)
  const key = parseIdempotencyKey(header)
  const [first] = operations
  if (first === undefined) throw new Error('a batch has at least one operation')
  if (operations.some(({ request: { method, store } }) => method === 'POST' && store.view.apiKey !== undefined)) {
    throw badIdempotencyKey(secretResponse)
  }
  const { session } = first.request
  let results = new BatchResults(service.limits)
  const { response, isReplay } = await runOnce(idempotency, {
    request: { key, method: 'POST', path, querystring, payload, view: viewsOf(operations) },
    session,
    limits: service.limits,
    run: async (transaction: DbTransaction) => {
      results = await runBatch(service, transaction, operations)
      return results.toResponse()
    },
    refuse: async (error) => refuseCommit(error, session, operations),
  })
  if (!isReplay) return respondToBatch(results, operations)
  const stored = storedResults(service, response)
  for (const [index, { request }] of operations.entries()) {
    if (request.method === 'DELETE') continue
    await requireVisible(request, stored.responseOf(index)).catch((error: unknown) => {
      throw errorOfOperation(index, error)
    })
  }
  if (operations.every(({ including }) => including === withoutIncludes)) return response
  return { ...response, body: (await respondToBatch(stored, operations)).body }
}

/** Text that identifies what the principals may see. The access rules of the operations may return different principals. */
function viewsOf(operations: readonly AdmittedOperation[]): string {
  return JSON.stringify(
    operations.map(({ request: { store, principal } }) => [
      store.view.cacheKey,
      typeof principal.id,
      String(principal.id),
    ]),
  )
}

/** The results in a stored response. */
function storedResults({ limits }: Service, response: HttpResponse): BatchResults {
  const { results } = JSON.parse(response.body) as {
    readonly results: readonly (Pick<HttpResponse, 'status' | 'headers'> & { readonly body: unknown })[]
  }
  const stored = new BatchResults(limits)
  for (const { status, headers, body } of results) {
    stored.add({ status, headers, cacheControl: undefined, body: body === null ? '' : JSON.stringify(body) }, undefined)
  }
  return stored
}
