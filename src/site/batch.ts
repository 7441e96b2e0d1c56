import { requireSameOrigin } from '../access/cross-origin'
import { RequestAuthentication } from '../access/request-authentication'
import { pause } from '../connection/pauses'
import { ApiError, notConnected } from '../errors'
import { respondToBatch, runBatch } from '../pipeline/batch'
import { admitBatch, type RequestedOperation } from '../pipeline/batch-admission'
import { runKeyedBatch } from '../pipeline/keyed-batch'
import type { Service } from '../pipeline/service'
import { reservesParsed } from '../pipeline/write-body'
import { type Operation, parseBatch } from '../request/batch'
import { OperationError } from '../request/operation-error'
import { withCaching } from '../response/http-response'
import type { MountSettings } from './mount-options'
import { isReplaced, type OperationMount, operationRequest } from './operation'
import type { PageHandler } from './page'
import { receivePagePayload } from './payload'
import { splitTarget } from './request-target'
import type { Routers } from './routers'

/** Runs several writes in one transaction (specification: Batches). */
export function batchPage({ base, batch }: MountSettings, routers: Routers): PageHandler {
  return async (request) => {
    const { session, service, context } = request
    if (service === undefined) throw notConnected()
    const { headers } = context
    requireSameOrigin(headers, context.host, service.allowedOrigins)
    const payload = await receivePagePayload(request, service.limits.body)
    const parsed = await parseBatch(payload, service.limits, batch, reservesParsed(request, payload))
    // The bodies of many batches may arrive together, and the requests of each are created in one step.
    await pause(session)
    const mount = { base, request, routers }
    const requested = parsed.map((operation, index) => requestOf(service, mount, operation, index))
    const authentication = new RequestAuthentication(service.verifyCredentials, session, context)
    const operations = await admitBatch(service, authentication, requested)
    const header = headers['idempotency-key']
    const response =
      header === undefined
        ? await respondToBatch(service, await runBatch(service, session, operations), operations)
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
 * @throws {OperationError} `bad-values` if the path does not belong to a resource, or a route of the application replaces the action
 */
function requestOf(service: Service, mount: OperationMount, operation: Operation, index: number): RequestedOperation {
  const { root } = mount.request
  const { path: target, method, preconditions, body } = operation
  const { path } = splitTarget(target)
  const isBelow = targetPattern.test(target) && !path.includes('\\') && path.startsWith(root)
  const [, name = '', segment] = (isBelow && pathPattern.exec(path.slice(root.length))) || []
  const served = service.resources.get(name)
  if (served === undefined) {
    throw refusedPath(index, `must be the path of a resource or of a record, such as ${root}/<resource>/`)
  }
  if (isReplaced(mount, { method, target })) {
    throw refusedPath(
      index,
      `has a route of the application, which replaces ${method} and cannot be part of a batch; send this operation as a request`,
    )
  }
  const request = operationRequest(mount, served, { method, target, segment, headers: { ...preconditions }, body })
  return { operation, request }
}

/** @param message predicate that follows the name `path` */
function refusedPath(index: number, message: string): OperationError {
  return new OperationError(
    index,
    new ApiError('bad-values', `path ${message}`, { errors: [{ field: 'path', message }] }),
  )
}
