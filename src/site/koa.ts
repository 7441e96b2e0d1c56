import type { Context, Middleware } from 'koa'
import { channels, type FaultEvent, type RefusalEvent, type RequestEvent, type Trace } from '../diagnostics'
import { ApiError, refusals, unavailable } from '../errors'
import { handle } from '../pipeline/handle'
import type { ResourceRequest, Service } from '../pipeline/service'
import type { Session } from '../query/connection'
import { troubleOf } from '../query/dialect-of'
import { toLoggable } from '../query/fault'
import { type Answer, answerFault, answerHealthy, answerRefusal } from '../response/answer'
import type { Resource } from '../schema/registry'
import { readPayload } from './payload'

/** What is mounted. */
export interface Site {
  /** `/api` */
  readonly base: string
  readonly session: Session
  /** What the database has been scanned for; undefined until the data source is initialized. */
  readonly service: () => (Service & { readonly resources: ReadonlyMap<string, Resource> }) | undefined
  /** Whether the database answers; undefined where nobody may ask. */
  readonly health: (() => Promise<boolean>) | undefined
  readonly serverTiming: boolean
}

/**
 * One route for all resources: `/api/<resource>/` and `/api/<resource>/<id>/`, with and without the last slash (D1). The path
 * is taken as it was sent: `%73ecret` is not the resource `secret`. What is not ours is left untouched for the next.
 */
export function buildMiddleware(site: Site): Middleware {
  const { base } = site
  const ours = new RegExp(`^${base.replaceAll('.', '\\.')}/([^/]+)(?:/([^/]+))?/?$`)
  return async (context, next) => {
    const [path, name = '', segment] = ours.exec(targetPath(context)) ?? []
    if (path === undefined) return next()
    if (name === 'health' && segment === undefined && site.health && isGet(context)) {
      const isHealthy = await site.health()
      return send(context, isHealthy ? answerHealthy() : answerRefusal(unavailable('the database does not answer')))
    }
    const service = site.service()
    if (service === undefined) return send(context, answerRefusal(unavailable('the database is not connected yet')))
    const resource = service.resources.get(name)
    if (resource === undefined) return next()
    const collection = `${mountPoint(context)}${base}/${name}/`
    await answer(site, service, { resource, segment, collection, ...requestOf(context, site, name) })
  }
}

async function answer({ serverTiming }: Site, service: Service, request: ResourceRequest): Promise<void> {
  const { context, method, resource, session } = request
  const start = performance.now()
  const { status, headers, body } = await handle(service, request).catch((error: unknown) =>
    answerError(request, error),
  )
  const milliseconds = performance.now() - start
  const { trace } = session
  const timing = serverTiming && trace !== undefined ? { 'Server-Timing': timingOf(trace, milliseconds) } : {}
  send(context, { status, body, headers: { ...headers, ...timing } })
  if (trace === undefined || !channels.request.hasSubscribers) return
  const { statements, rows } = trace
  const event: RequestEvent = { resource: resource.name, method, status, milliseconds, statements, rows }
  channels.request.publish(event)
}

/** In milliseconds (W3C, Server Timing). */
function timingOf({ statements, milliseconds }: Trace, total: number): string {
  return `db;dur=${milliseconds.toFixed(1)};desc="${statements} SQL", total;dur=${total.toFixed(1)}`
}

function requestOf(
  context: Context,
  { session, serverTiming }: Site,
  name: string,
): Omit<ResourceRequest, 'resource' | 'segment' | 'collection'> {
  const isTraced = serverTiming || channels.request.hasSubscribers || channels.statement.hasSubscribers
  return {
    session: isTraced ? { ...session, trace: { resource: name, statements: 0, rows: 0, milliseconds: 0 } } : session,
    method: context.method,
    querystring: context.querystring,
    headers: context.headers,
    host: context.host,
    context,
    readPayload: (limit) => readPayload(context, limit),
  }
}

function isGet({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * The path as it was sent. Koa's own is tidied by `url.parse`, which takes `\\` for `/` where a `#` stands in the target, and
 * throws for some: such a target has no canonical form (RFC 9112, request target).
 */
function targetPath({ url, originalUrl }: Context): string {
  if (/^[^?]*\\|#/.test(originalUrl)) return ''
  const [path = ''] = withoutOrigin(url).split('?')
  return path
}

/** The part of the path that the application has taken off before us, as `koa-mount` does. */
function mountPoint({ originalUrl, url }: Context): string {
  const [whole, rest] = [withoutOrigin(originalUrl), withoutOrigin(url)]
  return whole.endsWith(rest) ? whole.slice(0, whole.length - rest.length) : ''
}

/** A request target in absolute form names scheme and host too. */
function withoutOrigin(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, '')
}

function answerError(
  { context, resource: { name: resource }, method, session }: ResourceRequest,
  error: unknown,
): Answer {
  if (error instanceof ApiError) {
    const { code } = error
    const event: RefusalEvent = { resource, method, code, status: refusals[code].status }
    if (channels.refusal.hasSubscribers) channels.refusal.publish(event)
    return answerRefusal(error)
  }
  // What a rule of the application's own throws by `context.throw(403)` is for Koa to answer.
  if (error instanceof Error && 'expose' in error && error.expose === true) throw error
  context.app.emit('error', toLoggable(error, session.dataSource), context)
  const event: FaultEvent = { resource, method, name: String(Object(error).name) }
  if (channels.fault.hasSubscribers) channels.fault.publish(event)
  const isTrouble = troubleOf(error, session.dataSource) !== undefined
  return isTrouble ? answerRefusal(unavailable('the database cannot answer for the moment')) : answerFault()
}

/** Hands the answer to Koa, which leaves out the body of a HEAD. */
function send(context: Context, { status, headers, body }: Answer): void {
  context.status = status
  context.body = body || null
  context.set({ ...headers, 'X-Content-Type-Options': 'nosniff' })
  context.vary('Authorization')
}
