import type { DbTransaction } from '../connection/db-session'
import { readItemsInOrder } from '../read/select'
import type { Payload } from '../request/body'
import { badIdempotencyKey, parseIdempotencyKey } from '../request/idempotency-key'
import type { HttpResponse } from '../response/http-response'
import { type EnterOperation, refuseCommit, respondToBatch, runBatch } from './batch'
import type { AdmittedOperation } from './batch-admission'
import { BatchResults } from './batch-results'
import { runOnce, secretResponse } from './idempotency'
import { withoutIncludes } from './included-item'
import { areVisible, isRestricted, keysOf, notSentAgain, readableFields, requireIdempotency } from './keyed-action'
import type { PermittedRequest, Service } from './service'

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
    stores: operations.map(({ request }) => request.store),
    limits: service.limits,
    responseMemory: first.request.responseMemory,
    run: async (transaction: DbTransaction) => {
      let unseen: readonly RecordPosition[] = []
      results = await runBatch(service, transaction, operations, async (done, enter) => {
        unseen = await findUnseen(operations, done, enter)
      })
      return { ...results.toResponse(), unseen }
    },
    refuse: async (error) => refuseCommit(error, session, operations),
  })
  if (!isReplay) return respondToBatch(service, results, operations)
  const stored = storedResults(service, response)
  const unseen = new Set(response.unseen?.map(String))
  for (const [index, { request }] of operations.entries()) {
    if (request.method === 'DELETE') continue
    const keys = keysOf(request, stored.responseOf(index)).filter((_, record) => !unseen.has(String([index, record])))
    // Without the index of the operation, which would say that nothing was written.
    if (!(await areVisible(request, keys))) throw notSentAgain('the batch', `the record of operation ${index}`)
  }
  if (operations.every(({ including }) => including === withoutIncludes)) return response
  // Since the results were stored, others may have changed the relations of their records.
  const included = await Promise.all(
    operations.map(async (one) => {
      const { mayRead, resource } = one.request
      return (await mayRead(resource.name)) ? one : { ...one, including: withoutIncludes }
    }),
  )
  return { ...response, body: (await respondToBatch(service, stored, included)).body }
}

/** The index of an operation, and the index of a record in the response to it. */
type RecordPosition = readonly [operation: number, record: number]

/** Operations on one resource with one principal, and their records. */
interface OperationGroup {
  readonly first: AdmittedOperation
  readonly records: { readonly position: RecordPosition; readonly key: unknown }[]
}

/**
 * Finds the records that the principals cannot see any more at the end of the batch. A later operation may have deleted them,
 * also by a filter or a cascade, or changed another record on which the row scope depends. A repetition must not require that
 * the principal sees them.
 */
async function findUnseen(
  operations: readonly AdmittedOperation[],
  results: BatchResults,
  enter: EnterOperation,
): Promise<readonly RecordPosition[]> {
  const groups: OperationGroup[] = []
  // A write whose own record would not be visible is refused.
  for (const [index, operation] of operations.slice(0, -1).entries()) {
    const { request } = operation
    if (request.method === 'DELETE' || !isRestricted(request)) continue
    const records = keysOf(request, results.responseOf(index)).map((key, record) => ({
      position: [index, record] as const,
      key,
    }))
    const group = groups.find(({ first }) => isSameReader(first.request, request))
    if (group === undefined) groups.push({ first: operation, records })
    else group.records.push(...records)
  }
  const unseen: RecordPosition[] = []
  for (const { first, records } of groups) {
    const keys = records.map(({ key }) => key)
    const rows = await readItemsInOrder(await enter(first), first.request.store, keys, 'key')
    unseen.push(...records.flatMap(({ position }, index) => (rows[index] === undefined ? [position] : [])))
  }
  return unseen
}

function isSameReader(one: PermittedRequest, other: PermittedRequest): boolean {
  return one.store.view === other.store.view && one.principal === other.principal
}

/** Text that identifies what the principals may see. The access rules of the operations may return different principals. */
function viewsOf(operations: readonly AdmittedOperation[]): string {
  return JSON.stringify(
    operations.map(({ request: { store, principal } }) => [
      readableFields(store.view),
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
