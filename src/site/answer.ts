import type { Context } from 'koa'
import { publish, type Trace } from '../diagnostics'
import { ApiError, refusals, unavailable } from '../errors'
import { handle } from '../pipeline/handle'
import type { ResourceRequest, Service } from '../pipeline/service'
import { toLoggable, troubleOf } from '../query/fault'
import { type Answer, answerFault, answerRefusal } from '../response/answer'

/** Answers one request on a resource. @param serverTiming whether the answer says what it has cost */
export async function answer(service: Service, request: ResourceRequest, serverTiming: boolean): Promise<void> {
  const { context, method, resource, session } = request
  const start = performance.now()
  const { status, headers, body } = await handle(service, request).catch((error: unknown) =>
    answerError(request, error),
  )
  const milliseconds = performance.now() - start
  const { trace } = session
  const timing = serverTiming && trace !== undefined ? { 'Server-Timing': timingOf(trace, milliseconds) } : {}
  send(context, { status, body, headers: { ...headers, ...timing } })
  const { statements = 0, rows = 0 } = trace ?? {}
  publish('request', { resource: resource.name, method, status, milliseconds, statements, rows })
}

/** In milliseconds (W3C, Server Timing). */
function timingOf({ statements, milliseconds }: Trace, total: number): string {
  return `db;dur=${milliseconds.toFixed(1)};desc="${statements} SQL", total;dur=${total.toFixed(1)}`
}

function answerError(
  { context, resource: { name: resource }, method, session }: ResourceRequest,
  error: unknown,
): Answer {
  if (error instanceof ApiError) {
    const { code } = error
    publish('refusal', { resource, method, code, status: refusals[code].status })
    return answerRefusal(error)
  }
  // What a rule of the application's own throws by `context.throw(403)` is for Koa to answer.
  if (error instanceof Error && 'expose' in error && error.expose === true) throw error
  const loggable = toLoggable(error, session.dataSource)
  context.app.emit('error', loggable, context)
  publish('fault', { resource, method, name: String(Object(loggable).name) })
  const isTrouble = troubleOf(error, session.dataSource) !== undefined
  return isTrouble ? answerRefusal(unavailable('the database cannot answer for the moment')) : answerFault()
}

/** Hands the answer to Koa, which leaves out the body of a HEAD. */
export function send(context: Context, { status, headers, body }: Answer): void {
  context.status = status
  context.body = body || null
  context.set({ ...headers, 'X-Content-Type-Options': 'nosniff' })
  context.vary('Authorization')
}
