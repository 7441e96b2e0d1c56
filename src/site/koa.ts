import type { Context, Middleware } from 'koa'
import { type DbSession, openSession } from '../connection/db-session'
import { channels } from '../diagnostics'
import { unavailable } from '../errors'
import type { ResourceRequest, Service } from '../pipeline/service'
import type { Limits } from '../request/limits'
import { problemResponse } from '../response/http-response'
import { responseMemoryOf } from './held-bytes'
import type { Pages } from './page'
import { readPayload } from './payload'
import { waitForPrevious } from './pipelining'
import { respond, respondPage, sendResponse } from './respond'

/** What is mounted. */
export interface Site {
  /** `/api` */
  readonly base: string
  readonly session: DbSession
  /** What the database has been scanned for; undefined until the data source is initialized. */
  readonly service: () => Service | undefined
  /** What can be read besides resources. */
  readonly pages: Pages
  readonly serverTiming: boolean
  readonly limits: Limits
}

/**
 * One route for all resources: `/api/<resource>/` and `/api/<resource>/<id>/`, with and without the last slash (specification: Paths). The path
 * is taken as it was sent: `%73ecret` is not the resource `secret`. What is not ours is left untouched for the next.
 */
export function buildMiddleware(site: Site): Middleware {
  const { base, limits } = site
  const ours = new RegExp(`^${base.replaceAll('.', '\\.')}(?:/([^/]+)(?:/([^/]+))?)?/?$`)
  return async (context, next) => {
    const target = targetOf(context)
    const query = target.indexOf('?')
    const [path, name = '', segment] = ours.exec(query < 0 ? target : target.slice(0, query)) ?? []
    if (path === undefined) return next()
    const service = site.service()
    const resource = service?.resources.get(name)
    if (service === undefined || resource === undefined) {
      return answerOther(site, context, path.slice(base.length).replace(/\/$/, ''), next)
    }
    const turn = waitForPrevious(context, limits.pipelined)
    if (turn !== undefined && !(await turn)) return
    const request: ResourceRequest = {
      resource,
      segment,
      collection: `${mountPoint(context)}${base}/${name}/`,
      session: sessionOf(site, name, context),
      method: context.req.method ?? '',
      querystring: query < 0 ? '' : target.slice(query + 1),
      headers: context.req.headers,
      context,
      readPayload: (limit) => readPayload(context, limit),
      held: responseMemoryOf(context, limits.responseBytes),
    }
    await respond(service, request, site.serverTiming)
  }
}

/** Answers for what is no resource, or not yet. @param path behind the mount's, without a slash at its end */
async function answerOther(site: Site, context: Context, path: string, next: () => Promise<unknown>): Promise<void> {
  const { base, session, pages, limits } = site
  const service = site.service()
  const page = isGet(context) ? pages.get(path) : undefined
  if (page !== undefined) {
    const turn = waitForPrevious(context, limits.pipelined)
    if (turn !== undefined && !(await turn)) return
    const asked = { context, service, root: `${mountPoint(context)}${base}` }
    const held = responseMemoryOf(context, limits.responseBytes)
    return respondPage(page, asked, { context, session, resource: path.slice(1) }, held)
  }
  if (path === '' || service !== undefined) return void (await next())
  sendResponse(context, problemResponse(unavailable('the database is not connected')))
}

function sessionOf({ session, serverTiming }: Site, resource: string, context: Context): DbSession {
  const isTraced = serverTiming || channels.request.hasSubscribers || channels.statement.hasSubscribers
  const trace = isTraced ? { resource, statements: 0, rows: 0, milliseconds: 0 } : undefined
  // A write is completed even if the client disconnects.
  return openSession(session, isGet(context) ? context.res : undefined, trace)
}

function isGet({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * Path and query as they were sent. Koa's own path is tidied by `url.parse`, which takes a backslash for `/` where a `#` stands in
 * the target, and throws for some: such a target has no canonical form (RFC 9112, request target).
 */
function targetOf({ req: { url = '' }, originalUrl }: Context): string {
  return /^[^?]*\\|#/.test(originalUrl) ? '' : withoutOrigin(url)
}

/** The part of the path that was taken off before us: by Express, which calls it `baseUrl`, before Koa, then as `koa-mount` does. */
function mountPoint({ originalUrl, req }: Context): string {
  const { url = '', baseUrl = '' } = req as { readonly url?: string; readonly baseUrl?: string }
  if (originalUrl === url) return baseUrl
  const [whole, rest] = [withoutOrigin(originalUrl), withoutOrigin(url)]
  return whole.endsWith(rest) ? baseUrl + whole.slice(0, whole.length - rest.length) : baseUrl
}

/** A request target in absolute form names scheme and host too. */
function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
}
