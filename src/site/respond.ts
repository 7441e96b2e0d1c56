import type { Context } from 'koa'
import { isReadMethod } from '../access/require-principal'
import { toLoggable, transientErrorOf } from '../connection/database-error'
import type { DbSession } from '../connection/db-session'
import { publish, type Trace } from '../diagnostics'
import { ApiError, refusals, unavailable } from '../errors'
import { handle } from '../pipeline/handle'
import type { ResourceRequest, Service } from '../pipeline/service'
import { minCountedLength, type ResponseMemory } from '../response/held-bytes'
import { faultResponse, type HttpResponse, problemResponse } from '../response/http-response'
import type { PageHandler, PageRequest } from './page'

/** Answers one request on a resource. @param serverTiming whether the answer says what it has cost */
export async function respond(service: Service, request: ResourceRequest, serverTiming: boolean): Promise<void> {
  const { context, session } = request
  const { trace } = session
  const start = trace === undefined ? 0 : performance.now()
  let answered: HttpResponse
  try {
    answered = await handle(service, request)
    holdBody(request.held, isReadMethod(request.method), answered.body)
  } catch (error) {
    answered = errorResponse({ context, session, resource: request.resource.name }, error)
  }
  sendResponse(context, answered)
  noteSent(request.held, answered)
  if (trace === undefined) return
  const milliseconds = performance.now() - start
  if (serverTiming) context.set('Server-Timing', timingOf(trace, milliseconds))
  const { statements, rows } = trace
  const { method, resource } = request
  publish('request', { resource: resource.name, method, status: answered.status, milliseconds, statements, rows })
}

/** Counts the memory of a large body. @param mayBeRefused not for a write, which is done by now */
function holdBody(held: () => ResponseMemory, mayBeRefused: boolean, body: string): void {
  if (body.length < minCountedLength) return
  const bytes = Buffer.byteLength(body)
  if (mayBeRefused) held().reserve(bytes)
  held().count(bytes)
}

function noteSent(held: () => ResponseMemory, { body }: HttpResponse): void {
  if (body.length >= minCountedLength) held().noteSent()
}

/** Answers one request for what is no resource. */
export async function respondPage(
  page: PageHandler,
  request: PageRequest,
  failing: Failing,
  held: () => ResponseMemory,
): Promise<void> {
  const answered = await page(request)
    .then((answer) => {
      holdBody(held, true, answer.body)
      return answer
    })
    .catch((error: unknown) => errorResponse(failing, error))
  sendResponse(request.context, answered)
  noteSent(held, answered)
}

/** In milliseconds (W3C, Server Timing). */
function timingOf({ statements, milliseconds }: Trace, total: number): string {
  return `db;dur=${milliseconds.toFixed(1)};desc="${statements} SQL", total;dur=${total.toFixed(1)}`
}

/** What has failed: a request on a resource, or on a page, which has a name in small letters too. */
export interface Failing {
  readonly context: Context
  readonly session: DbSession
  readonly resource: string
}

/** The answer to a refusal or a fault. @throws what is for Koa to answer */
export function errorResponse({ context, session, resource }: Failing, error: unknown): HttpResponse {
  const { method } = context
  if (error instanceof ApiError) {
    const { code } = error
    publish('refusal', { resource, method, code, status: refusals[code].status })
    return problemResponse(error)
  }
  // What a rule of the application's own throws by `context.throw(403)` is for Koa to answer.
  if (error instanceof Error && 'expose' in error && error.expose === true) throw error
  const loggable = toLoggable(error, session.dataSource)
  context.app.emit('error', loggable, context)
  publish('fault', { resource, method, name: String(Object(loggable).name) })
  const trouble = transientErrorOf(error, session.dataSource)
  if (trouble === undefined) return faultResponse()
  return problemResponse(unavailable(trouble === 'timeout' ? tookTooLong : 'the database cannot answer for the moment'))
}

const tookTooLong =
  'the database has ended a statement that took longer than its time limit: ask for less, as with fewer or other filters, or try again'

/** Hands the answer to Koa, which leaves out the body of a HEAD. */
export function sendResponse({ response, res }: Context, { status, headers, caching, body }: HttpResponse): void {
  response.status = status
  if (body === '') response.body = null
  for (const name of Object.keys(headers)) response.set(name, headers[name] ?? '')
  if (caching !== undefined) response.set('Cache-Control', caching)
  response.set('X-Content-Type-Options', 'nosniff')
  if (res.hasHeader('Vary')) response.vary('Authorization')
  else response.set('Vary', 'Authorization')
  // Koa would look into it for its type, had it none yet.
  if (body !== '') response.body = body
}
