import type { Context, Middleware } from 'koa'
import { type DbSession, openSession } from '../connection/db-session'
import { channels } from '../diagnostics'
import { unavailable } from '../errors'
import type { ResourceRequest, Service } from '../pipeline/service'
import type { Limits } from '../request/limits'
import { problemResponse } from '../response/http-response'
import { responseMemoryOf } from './held-bytes'
import type { PageHandler, PagesByMethod } from './page'
import { readPayload } from './payload'
import { waitForPrevious } from './pipelining'
import { respond, respondPage, sendResponse } from './respond'

/** Service, as it is mounted in an application. */
export interface Site {
  /** Path of the mount, without a trailing slash: `/api`. */
  readonly base: string
  readonly session: DbSession
  /** Returns undefined until the data source is initialized. */
  readonly service: () => Service | undefined
  /** Pages below the mount that are not resources. */
  readonly pages: PagesByMethod
  /** Whether responses have the header `Server-Timing`. */
  readonly serverTiming: boolean
  readonly limits: Limits
  /** Values of `WWW-Authenticate` in a response with status 401. */
  readonly challenges: readonly string[]
}

/**
 * Builds the middleware that handles all resources: `/api/<resource>/` and `/api/<resource>/<id>/`, with and without
 * the trailing slash (specification: Paths). The path is compared as the client sent it, without percent-decoding:
 * `%73ecret` is not the resource `secret`. Requests on other paths are passed unchanged to the next middleware.
 */
export function buildMiddleware(site: Site): Middleware {
  const { base, limits } = site
  const pathPattern = new RegExp(`^${base.replaceAll('.', '\\.')}(?:/([^/]+)(?:/([^/]+))?)?/?$`)
  return async (context, next) => {
    const target = targetOf(context)
    const queryIndex = target.indexOf('?')
    const [path, name = '', segment] = pathPattern.exec(queryIndex < 0 ? target : target.slice(0, queryIndex)) ?? []
    if (path === undefined) return next()
    const service = site.service()
    const served = service?.resources.get(name)
    if (service === undefined || served === undefined) {
      return respondOther(site, context, path.slice(base.length).replace(/\/$/, ''), next)
    }
    const waiting = waitForPrevious(context, limits.pipelined)
    if (waiting !== undefined && !(await waiting)) return
    const request: ResourceRequest = {
      resource: served.fullView,
      storeOf: served.storeOf,
      segment,
      collection: `${mountPoint(context)}${base}/${name}/`,
      session: sessionOf(site, name, context),
      method: context.req.method ?? '',
      querystring: queryIndex < 0 ? '' : target.slice(queryIndex + 1),
      headers: context.req.headers,
      context,
      readPayload: (limit) => readPayload(context, limit),
      responseMemory: responseMemoryOf(context, limits.responseBytes),
    }
    await respond(service, request, site.serverTiming, site.challenges)
  }
}

/**
 * Handles a request below the mount that does not name a known resource. Responds with a page, or with 503 while the
 * data source is not initialized; otherwise calls the next middleware.
 * @param path relative to the mount, without a trailing slash: `/health`; empty for the mount itself
 */
async function respondOther(site: Site, context: Context, path: string, next: () => Promise<unknown>): Promise<void> {
  const { base, session, pages, limits } = site
  const service = site.service()
  const page = pageOf(pages, context, path)
  if (page !== undefined) {
    const waiting = waitForPrevious(context, limits.pipelined)
    if (waiting !== undefined && !(await waiting)) return
    const request = { context, service, root: `${mountPoint(context)}${base}` }
    const responseMemory = responseMemoryOf(context, limits.responseBytes)
    return respondPage(
      page,
      request,
      { context, session, resource: path.slice(1), challenges: site.challenges },
      responseMemory,
    )
  }
  if (path === '' || service !== undefined) return void (await next())
  sendResponse(context, problemResponse(unavailable('the database is not connected')))
}

function sessionOf({ session, serverTiming }: Site, resource: string, context: Context): DbSession {
  const isTraced = serverTiming || channels.request.hasSubscribers || channels.statement.hasSubscribers
  const trace = isTraced ? { resource, statements: 0, rows: 0, milliseconds: 0 } : undefined
  // Only reads are cancelled when the client disconnects; a write is completed.
  return openSession(session, isGet(context) ? context.res : undefined, trace)
}

function pageOf(pages: PagesByMethod, context: Context, path: string): PageHandler | undefined {
  if (isGet(context)) return pages.GET.get(path)
  return context.method === 'POST' ? pages.POST.get(path) : undefined
}

function isGet({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * Path and query string as the client sent them. Koa's own path comes from `url.parse`: if the target contains a `#`,
 * this function reads backslashes as slashes, and it throws for some targets.
 * @returns an empty string if there is a `#` or, in the path, a backslash: a request target cannot contain them
 * (RFC 9112, request target)
 */
function targetOf({ req: { url = '' }, originalUrl }: Context): string {
  return /^[^?]*\\|#/.test(originalUrl) ? '' : withoutOrigin(url)
}

/** Prefix of the path that was removed before this middleware: by Express (`baseUrl`), then by `koa-mount` in Koa. */
function mountPoint({ originalUrl, req }: Context): string {
  const { url = '', baseUrl = '' } = req as { readonly url?: string; readonly baseUrl?: string }
  if (originalUrl === url) return baseUrl
  const [originalTarget, target] = [withoutOrigin(originalUrl), withoutOrigin(url)]
  if (!originalTarget.endsWith(target)) return baseUrl
  return baseUrl + originalTarget.slice(0, originalTarget.length - target.length)
}

/** Removes scheme and host from a request target in absolute form. */
function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
}
