import { requireSameOrigin } from '../access/cross-origin'
import { RequestAuthentication } from '../access/request-authentication'
import type { DbSession } from '../connection/db-session'
import { ApiError, notConnected } from '../errors'
import { respondToBatch, runBatch } from '../pipeline/batch'
import { admitBatch, type RequestedOperation } from '../pipeline/batch-admission'
import { runKeyedBatch } from '../pipeline/keyed-batch'
import type { Service } from '../pipeline/service'
import { type Operation, parseBatch } from '../request/batch'
import { OperationError } from '../request/operation-error'
import { withCaching } from '../response/http-response'
import type { MountSettings } from './mount-options'
import { type OperationMount, operationRequest } from './operation'
import type { PageHandler } from './page'
import { receivePagePayload } from './payload'
import { splitTarget } from './request-target'

/** Runs several writes in one transaction (specification: Batches). */
export function batchPage(session: DbSession, { base, batch }: MountSettings): PageHandler {
  return async (request) => {
    const { service, context } = request
    if (service === undefined) throw notConnected()
    const { headers } = context
    requireSameOrigin(headers, context.host, service.allowedOrigins)
    const payload = await receivePagePayload(request, service.limits.body)
    const parsed = await parseBatch(payload, service.limits, batch)
    const mount = { session, base, request }
    const requested = parsed.map((operation, index) => requestOf(service, mount, operation, index))
    const authentication = new RequestAuthentication(service.verifyCredentials, session, context)
    const operations = await admitBatch(service, authentication, requested)
    const header = headers['idempotency-key']
    const response =
      header === undefined
        ? await respondToBatch(await runBatch(service, session, operations), operations)
        : await runKeyedBatch(service, {
            header: String(header),
            path: `${request.root}/-/batch`,
            querystring: context.querystring,
            payload,
            operations,
          })
    return withCaching(response, false)
  }
}

/** Path below the mount, as in `koa.ts`: the name of a resource, and the key of a record. */
const pathPattern = /^\/([^/]+)(?:\/([^/]+))?\/?$/

/** Characters of a request target: ASCII characters except for `#` and white space. */
const targetPattern = /^[!"$-~]+$/

/**
 * Converts an operation into a request on the resource of its path. The path is compared without decoding, like the path of a
 * request.
 * @throws {OperationError} `bad-values` if the path does not belong to a resource
 */
function requestOf(service: Service, mount: OperationMount, operation: Operation, index: number): RequestedOperation {
  const { root } = mount.request
  const { path: target, method, preconditions, body } = operation
  const { path } = splitTarget(target)
  const isBelow = targetPattern.test(target) && !path.includes('\\') && path.startsWith(root)
  const [, name = '', segment] = (isBelow && pathPattern.exec(path.slice(root.length))) || []
  const served = service.resources.get(name)
  if (served === undefined) throw unknownPath(index, root)
  const request = operationRequest(mount, served, { method, target, segment, headers: { ...preconditions }, body })
  return { operation, request }
}

function unknownPath(index: number, root: string): OperationError {
  const message = `must be the path of a resource or of a record, such as ${root}/<resource>/`
  return new OperationError(
    index,
    new ApiError('bad-values', `path ${message}`, { errors: [{ field: 'path', message }] }),
  )
}
