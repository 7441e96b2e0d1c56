import { changeSettings } from '../connection/change-settings'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { pause } from '../connection/pauses'
import { retryOnce } from '../connection/retry'
import { showPrincipal } from '../connection/show-principal'
import { isInTransaction, runSharedTransaction, WriteError } from '../connection/statement'
import { channels, publish, type Trace } from '../diagnostics'
import { dialectOf, violationOf } from '../dialect/dialect-of'
import { ApiError } from '../errors'
import { parseKey } from '../query/item-query'
import type { Operation } from '../request/batch'
import { referencesOf, resolveReferences } from '../request/batch-references'
import { errorOfOperation } from '../request/operation-error'
import type { HttpResponse } from '../response/http-response'
import { lockTreesOf } from '../write/lock-trees'
import type { AdmittedOperation } from './batch-admission'
import { BatchResults } from './batch-results'
import { type AdmittedRequest, perform } from './handle'
import { withoutIncludes } from './included-item'
import type { PermittedRequest, Service } from './service'
import { writtenSegment } from './write-body'
import { startTimeLimit } from './write-records'

/** Returns the session of an operation in the transaction of its batch. The settings of its principal apply until the next call. */
export type EnterOperation = (operation: AdmittedOperation) => Promise<DbTransaction>

type FinishBatch = (results: BatchResults, enter: EnterOperation) => Promise<void>

/**
 * Runs the operations of a batch in order, in the transaction of the session or else in a new one
 * (specification: Batches). If the database cancels a new transaction because of a conflict, all of them run once more.
 * @param session in a transaction, its settings apply there
 * @param finish called after the last operation, in the transaction
 * @returns the results of all operations, without included records
 * @throws {OperationError} for the first operation that is refused. Nothing is written then, if the transaction of the
 * session is rolled back
 */
export async function runBatch(
  service: Service,
  session: DbSession,
  operations: readonly AdmittedOperation[],
  finish: FinishBatch = async () => undefined,
): Promise<BatchResults> {
  // Subscribers of the events of a new transaction find the principal of the first operation.
  const outer = isInTransaction(session) ? session : (operations[0]?.request.session ?? session)
  const run = async (transaction: DbTransaction): Promise<BatchResults> => {
    if (!isInTransaction(session)) {
      await lockTreesOf(
        transaction,
        operations.map(({ request }) => request.store),
      )
    }
    return runAll(service, transaction, operations, finish)
  }
  return retryOnce(outer, () =>
    runSharedTransaction(outer, run, dialectOf(outer.dataSource).checkedWriteIsolation).catch((error: unknown) =>
      refuseCommit(error, outer, operations),
    ),
  )
}

/**
 * Builds the response to a batch after its commit: adds the included records, and publishes the events. All operations share
 * the limits of one response: after the first record whose related records exceed one of them, no others are read.
 * @param results of these operations
 */
export async function respondToBatch(
  service: Service,
  results: BatchResults,
  operations: readonly AdmittedOperation[],
): Promise<HttpResponse> {
  const deadline = performance.now() + service.limits.bulkTime
  const included = { records: 0, bytes: 0 }
  for (const [index, { request, including }] of operations.entries()) {
    const response = results.responseOf(index)
    // The response with a new API key, which must not be stored, stays as it is.
    if (including === withoutIncludes || response.cacheControl === 'no-store') continue
    const responseMemory = () => results.memoryBeside(request.responseMemory())
    const whole = await including(response, writtenKey(request, response), { included, responseMemory })
    // Otherwise each of the operations could take as much time as a list that exceeds a limit.
    if (whole === response) break
    results.replace(index, whole)
    // Statements of better-sqlite3 are synchronous.
    await pause(request.session)
    if (performance.now() > deadline) break
  }
  for (const event of results.events) publish('request', event)
  return results.toResponse()
}

/** Key of the record that a write has created or changed; undefined if there is not one record. */
function writtenKey({ store, segment }: PermittedRequest, { headers }: HttpResponse): unknown {
  return parseKey(store.view, writtenSegment(headers) ?? segment ?? '')
}

async function runAll(
  service: Service,
  transaction: DbTransaction,
  operations: readonly AdmittedOperation[],
  finish: FinishBatch,
): Promise<BatchResults> {
  const results = new BatchResults(service.limits)
  const requireTime = startTimeLimit(service.limits)
  let applied = transaction.settings
  const enter: EnterOperation = async ({ request: { session } }) => {
    const { runner, changes } = transaction
    applied = await changeSettings({ ...session, runner }, applied)
    return { ...session, runner, changes }
  }
  for (const [index, operation] of operations.entries()) {
    // The driver better-sqlite3 is synchronous: without pauses, other requests would wait for the end of the batch.
    await pause(transaction)
    try {
      requireTime()
      await runOperation(service, { ...(await enter(operation)), trace: newTrace(operation) }, operation, results)
    } catch (error) {
      throw errorOfOperation(index, error)
    }
  }
  await finish(results, enter)
  return results
}

/** Runs one operation, and adds its response to the results. */
async function runOperation(
  service: Service,
  session: DbTransaction,
  admitted: AdmittedOperation,
  results: BatchResults,
): Promise<void> {
  const { operation, request } = admitted
  const start = performance.now()
  const { responseMemory } = request
  const body = await bodyOf(session, operation, results)
  const own: AdmittedRequest = {
    ...admitted,
    request: {
      ...request,
      session,
      readPayload: async () => ({ contentType: 'application/json', parsed: body ?? null }),
      responseMemory: () => results.memoryBeside(responseMemory()),
    },
  }
  const response = await showPrincipal(session, () => perform(service, own))
  if (admitted.including !== withoutIncludes && writtenKey(request, response) === undefined) {
    throw new ApiError('bad-query', 'include is not possible for several records')
  }
  const { trace } = session
  results.add(response, trace && { ...trace, method: request.method, milliseconds: performance.now() - start })
}

async function bodyOf(session: DbSession, { body, hasReferences }: Operation, results: BatchResults): Promise<unknown> {
  if (!hasReferences) return body
  return resolveReferences(body, results.count, await results.lookUp(session, referencesOf(body, results.count)))
}

function newTrace({ request }: AdmittedOperation): Trace | undefined {
  if (!channels.request.hasSubscribers && !channels.statement.hasSubscribers) return undefined
  return { resource: request.resource.name, statements: 0, rows: 0, milliseconds: 0 }
}

/**
 * Converts an error of COMMIT, such as the violation of a deferred constraint, into a refusal of the whole batch.
 * @throws {ApiError} `conflict`
 * @throws the error itself, or the driver's error if it is not a constraint violation
 */
export function refuseCommit(error: unknown, { dataSource }: DbSession, [first]: readonly AdmittedOperation[]): never {
  if (!(error instanceof WriteError) || first === undefined) throw error
  const violation = violationOf(error.cause, dataSource, first.request.store.view.metadata)
  if (violation === undefined) throw error.cause
  throw new ApiError('conflict', 'the database does not accept these operations together; nothing was written')
}
