import type { Context } from 'koa'
import type { DataSource } from 'typeorm'
import { isReadMethod } from '../access/request-authentication'
import { toLoggable, transientErrorOf } from '../connection/database-error'
import type { DbSession } from '../connection/db-session'
import { publish, type Trace } from '../diagnostics'
import { emitError } from '../emit-error'
import { ApiError, refusals, unavailable } from '../errors'
import { handle } from '../pipeline/handle'
import type { ResourceRequest, Service } from '../pipeline/service'
import { problemOf } from '../problem'
import { OperationError } from '../request/operation-error'
import { SpoolError } from '../request/spool'
import { minCountedLength, type ResponseMemory } from '../response/held-bytes'
import {
  faultResponse,
  type HttpResponse,
  problemResponse,
  thrownProblemResponse,
  unauthorizedResponse,
  withOperationIndex,
} from '../response/http-response'
import { abortOnError } from './abort'
import type { PageHandler, PageRequest } from './page'

/**
 * Responds to a request on a resource.
 * @param serverTiming whether to set the header `Server-Timing`
 * @param challenges values of `WWW-Authenticate` in a response with status 401
 */
export async function respond(
  service: Service,
  request: ResourceRequest,
  serverTiming: boolean,
  challenges: readonly string[],
): Promise<void> {
  const { context, session, responseMemory } = request
  const { trace } = session
  const start = trace === undefined ? 0 : performance.now()
  const failed: FailedRequest = { context, session, resource: request.resource.name, challenges }
  let response: HttpResponse
  try {
    response = await handle(service, request)
    countBody(responseMemory, isReadMethod(request.method), response.body)
  } catch (error) {
    response = errorResponse(failed, error)
  }
  sendResponse(context, response)
  if (response.stream !== undefined) {
    abortOnError(response.stream, context, (error) => reportAborted(failed, error))
  }
  if (trace === undefined) return
  const milliseconds = performance.now() - start
  if (serverTiming) context.set('Server-Timing', timingOf(trace, milliseconds))
  publishRequest(request, trace, response.status, milliseconds)
}

/** Publishes the event of a completed request. @param milliseconds time that the request took */
export function publishRequest(
  { resource, method }: ResourceRequest,
  { statements, rows }: Trace,
  status: number,
  milliseconds: number,
): void {
  publish('request', { resource: resource.name, method, status, milliseconds, statements, rows })
}

/**
 * Counts the memory of a large response body.
 * @param mayBeRefused whether a response that exceeds the limit may be refused; false for writes, which are complete
 * @throws {ApiError} `unavailable`
 */
export function countBody(responseMemory: () => ResponseMemory, mayBeRefused: boolean, body: string | Buffer): void {
  // In UTF-8, each code unit of a string has at most three bytes.
  if (body.length * 3 < minCountedLength) return
  const bytes = Buffer.byteLength(body)
  if (bytes < minCountedLength) return
  if (mayBeRefused) responseMemory().reserve(bytes)
  responseMemory().count(bytes)
}

/**
 * Responds to a request for a page.
 * @param failed the request as it is reported if it fails
 */
export async function respondPage(page: PageHandler, request: PageRequest, failed: FailedRequest): Promise<void> {
  const { context, responseMemory } = request
  const response = await page(request)
    .then((pageResponse) => {
      countBody(responseMemory, isReadMethod(context.method), pageResponse.bytes ?? pageResponse.body)
      return pageResponse
    })
    .catch((error: unknown) => errorResponse(failed, error))
  sendResponse(context, response)
}

/** Publishes the error of a streamed body after its connection was closed. Refusals are also logged. */
function reportAborted(failed: FailedRequest, error: unknown): void {
  errorResponse(failed, error)
  if (!(error instanceof ApiError)) return
  const { session, resource } = failed
  session.dataSource.logger.log(
    'warn',
    `typeorm-resources: a streamed list of ${resource} was cut off: ${error.message}`,
  )
}

/**
 * Value of the header `Server-Timing` (W3C, Server Timing).
 * @param total time of the whole request, in milliseconds
 */
function timingOf({ statements, milliseconds }: Trace, total: number): string {
  return `db;dur=${milliseconds.toFixed(1)};desc="${statements} SQL", total;dur=${total.toFixed(1)}`
}

/** Request that has failed, on a resource or a page. */
export interface FailedRequest {
  readonly context: Context
  readonly session: DbSession
  /** Name of the resource, or path of the page without its first slash: `health`. */
  readonly resource: string
  /** Values of `WWW-Authenticate` in a response with status 401. */
  readonly challenges: readonly string[]
}

/**
 * Builds the response to a refusal or a fault, and publishes it to the diagnostics channels. Emits Koa's `error` event
 * for a fault.
 * @throws errors of `context.throw(…)`, which Koa renders
 */
export function errorResponse(failed: FailedRequest, error: unknown): HttpResponse {
  if (error instanceof OperationError) return withOperationIndex(errorResponse(failed, error.refusal), error.index)
  const { context, session, resource, challenges } = failed
  const { method } = context
  if (error instanceof ApiError) {
    const { code, message, details } = error
    const { status } = refusals[code]
    if (code !== 'unauthorized') {
      publish('refusal', { resource, method, code, status })
      return problemResponse(error)
    }
    publish('refusal', { resource, method, code, status, reason: message })
    session.dataSource.logger.log('info', `typeorm-resources: 401 for ${method} of ${resource}: ${message}`)
    return unauthorizedResponse(challenges, details.challenge)
  }
  const thrown = problemOf(error)
  if (thrown !== undefined) {
    publish('refusal', { resource, method, code: 'problem', status: thrown.status })
    return thrown.status === 401 ? unauthorizedResponse(challenges) : thrownProblemResponse(thrown)
  }
  // An access rule of the application can throw such an error by `context.throw(403)`.
  if (error instanceof Error && 'expose' in error && error.expose === true) throw error
  const { name } = emitError(context.app, toLoggable(error, session.dataSource), context)
  publish('fault', { resource, method, name: String(name) })
  const detail = transientDetail(error, session.dataSource)
  return detail === undefined ? faultResponse() : problemResponse(unavailable(detail))
}

/** What the response says about an error that may not occur again; undefined for a fault. */
function transientDetail(error: unknown, dataSource: DataSource): string | undefined {
  if (error instanceof SpoolError) return 'the server cannot store the body of an import now; try again'
  const kind = transientErrorOf(error, dataSource)
  if (kind === undefined) return undefined
  return kind === 'timeout'
    ? 'the database cancelled a statement that exceeded its time limit: use fewer or other filters, or try again'
    : 'the database is not available at the moment'
}

/** Sets the response on Koa's context. Koa sends it, without the body for HEAD. */
export function sendResponse(
  { response, res }: Context,
  { status, headers, cacheControl, body, bytes, stream }: HttpResponse,
): void {
  response.status = status
  if (body === '' && bytes === undefined && stream === undefined) {
    response.body = null
    // Koa has replaced it by 204.
    if (status === 202 || status === 503) response.status = status
  }
  for (const name of Object.keys(headers)) {
    const value = (headers[name] ?? '') as string | string[]
    // Middleware of the application may have set it too.
    if (name === 'Vary') response.vary(value)
    else response.set(name, value)
  }
  if (cacheControl !== undefined) response.set('Cache-Control', cacheControl)
  response.set('X-Content-Type-Options', 'nosniff')
  if (res.hasHeader('Vary')) response.vary('Authorization')
  else response.set('Vary', 'Authorization')
  // The body is set after `Content-Type`: otherwise Koa would inspect it to find its type.
  if (stream !== undefined) response.body = stream.readable
  else if (bytes !== undefined) response.body = bytes
  else if (body !== '') response.body = body
}
