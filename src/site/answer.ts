import type { Context } from 'koa'
import { isReading } from '../access/require-principal'
import { publish, type Trace } from '../diagnostics'
import { ApiError, refusals, unavailable } from '../errors'
import { handle } from '../pipeline/handle'
import type { ResourceRequest, Service } from '../pipeline/service'
import type { Session } from '../query/connection'
import { toLoggable, troubleOf } from '../query/fault'
import { type Answer, answerFault, answerRefusal } from '../response/answer'
import { countedLength, type HeldBytes } from '../response/held-bytes'
import type { Page, PageRequest } from './page'

/** Answers one request on a resource. @param serverTiming whether the answer says what it has cost */
export async function answer(service: Service, request: ResourceRequest, serverTiming: boolean): Promise<void> {
  const { context, session } = request
  const { trace } = session
  const start = trace === undefined ? 0 : performance.now()
  let answered: Answer
  try {
    answered = await handle(service, request)
    holdBody(request.held, isReading(request.method), answered.body)
  } catch (error) {
    answered = answerError({ context, session, resource: request.resource.name }, error)
  }
  send(context, answered)
  noteSent(request.held, answered)
  if (trace === undefined) return
  const milliseconds = performance.now() - start
  if (serverTiming) context.set('Server-Timing', timingOf(trace, milliseconds))
  const { statements, rows } = trace
  const { method, resource } = request
  publish('request', { resource: resource.name, method, status: answered.status, milliseconds, statements, rows })
}

/** Counts the memory of a large body. @param mayBeRefused not for a write, which is done by now */
function holdBody(held: () => HeldBytes, mayBeRefused: boolean, body: string): void {
  if (body.length < countedLength) return
  const bytes = Buffer.byteLength(body)
  if (mayBeRefused) held().reserve(bytes)
  held().count(bytes)
}

function noteSent(held: () => HeldBytes, { body }: Answer): void {
  if (body.length >= countedLength) held().noteSent()
}

/** Answers one request for what is no resource. */
export async function answerPage(
  page: Page,
  request: PageRequest,
  failing: Failing,
  held: () => HeldBytes,
): Promise<void> {
  const answered = await page(request)
    .then((answer) => {
      holdBody(held, true, answer.body)
      return answer
    })
    .catch((error: unknown) => answerError(failing, error))
  send(request.context, answered)
  noteSent(held, answered)
}

/** In milliseconds (W3C, Server Timing). */
function timingOf({ statements, milliseconds }: Trace, total: number): string {
  return `db;dur=${milliseconds.toFixed(1)};desc="${statements} SQL", total;dur=${total.toFixed(1)}`
}

/** What has failed: a request on a resource, or on a page, which has a name in small letters too. */
export interface Failing {
  readonly context: Context
  readonly session: Session
  readonly resource: string
}

/** The answer to a refusal or a fault. @throws what is for Koa to answer */
export function answerError({ context, session, resource }: Failing, error: unknown): Answer {
  const { method } = context
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
  const trouble = troubleOf(error, session.dataSource)
  if (trouble === undefined) return answerFault()
  return answerRefusal(unavailable(trouble === 'timeout' ? tookTooLong : 'the database cannot answer for the moment'))
}

const tookTooLong =
  'the database has ended a statement that took longer than its time limit: ask for less, as with fewer or other filters, or try again'

/** Hands the answer to Koa, which leaves out the body of a HEAD. */
export function send({ response, res }: Context, { status, headers, caching, body }: Answer): void {
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
