import type { Context, Middleware } from 'koa'
import type { DbSession } from '../connection/db-session'
import { notConnected } from '../errors'
import type { ResourceRequest, ServedResource, Service } from '../pipeline/service'
import type { Limits } from '../request/limits'
import { problemResponse } from '../response/http-response'
import { matchOf, respondAction } from './custom-action'
import { responseMemoryOf } from './held-bytes'
import type { PageHandler, PagesByMethod } from './page'
import { openBody, readPayload } from './payload'
import { waitForPrevious } from './pipelining'
import { mountPoint, splitTarget, targetOf } from './request-target'
import { respond, respondPage, sendResponse } from './respond'
import type { CustomPath, Routers } from './routers'
import { tracedSession } from './traced-session'

/** Service, as it is mounted in an application. */
export interface Site {
  /** Path of the mount, without a trailing slash: `/api`. */
  readonly base: string
  readonly session: DbSession
  /** Returns undefined until the data source is initialized. */
  readonly service: () => Service | undefined
  /** The routes that the application has added to resources. */
  readonly routers: Routers
  /** Pages below the mount that are not resources. */
  readonly pages: PagesByMethod
  /** Whether responses have the header `Server-Timing`. */
  readonly serverTiming: boolean
  readonly limits: Limits
  /** Values of `WWW-Authenticate` in a response with status 401. */
  readonly challenges: readonly string[]
}

/**
 * Builds the middleware that handles all resources: `/api/<resource>/` and `/api/<resource>/<id>/`, and for resources with
 * `may.restore` also `/api/<resource>/<id>/restore/`, with and without the trailing slash (specification: Paths). The path is
 * compared as the client sent it, without percent-decoding: `%73ecret` is not the resource `secret`. A request on the path of a
 * custom action is passed to this action. Requests on other paths are passed to the next middleware.
 */
export function buildMiddleware(site: Site): Middleware {
  const { base, limits } = site
  const pathPattern = new RegExp(`^${base.replaceAll('.', '\\.')}(?:/([^/]+)(?:/([^/]+)(?:/(restore))?)?)?/?$`)
  return async (context, next) => {
    const { path, querystring } = splitTarget(targetOf(context))
    const custom = site.routers.at(path)
    const match = custom && matchOf(custom, context.method)
    const builtIn = match === 'route' ? null : pathPattern.exec(path)
    if (builtIn === null) {
      return custom === undefined || match === undefined
        ? next()
        : respondCustom(site, context, custom, querystring, next)
    }
    const [, name = '', segment, operation] = builtIn
    const service = site.service()
    const served = service?.resources.get(name)
    // Without `may.restore`, the path belongs to the application.
    const isOther = operation !== undefined && service !== undefined && served?.fullView.may.restore === undefined
    if (isOther) return next()
    if (service === undefined || served === undefined) {
      return respondOther(site, context, path.slice(base.length).replace(/\/$/, ''), next)
    }
    const waiting = waitForPrevious(context, limits.pipelined)
    if (waiting !== undefined && !(await waiting)) return
    const restores = operation !== undefined
    const request = requestOf(site, context, { served, segment, restores, querystring })
    await respond(service, request, site.serverTiming, site.challenges)
  }
}

/** Parts of the path and the query string of a request. */
interface RequestedPath {
  readonly served: ServedResource
  readonly segment?: string | undefined
  readonly restores: boolean
  readonly querystring: string
}

function requestOf(
  site: Site,
  context: Context,
  { served: { fullView, storeOf }, segment, restores, querystring }: RequestedPath,
): ResourceRequest {
  const { name } = fullView
  return {
    resource: fullView,
    storeOf,
    segment,
    restores,
    collection: `${mountPoint(context)}${site.base}/${name}/`,
    session: sessionOf(site, name, context),
    method: context.req.method ?? '',
    querystring,
    headers: context.req.headers,
    context,
    readPayload: (limit) => readPayload(context, limit),
    openBody: () => openBody(context),
    responseMemory: responseMemoryOf(context, site.limits.responseBytes),
  }
}

/** Handles a request on a path for which the application has added a route. */
async function respondCustom(
  site: Site,
  context: Context,
  custom: CustomPath,
  querystring: string,
  next: () => Promise<unknown>,
): Promise<void> {
  const service = site.service()
  const served = service?.resources.get(custom.name)
  if (service === undefined || served === undefined) {
    return sendResponse(context, problemResponse(notConnected()))
  }
  const waiting = waitForPrevious(context, site.limits.pipelined)
  if (waiting !== undefined && !(await waiting)) return
  const request = requestOf(site, context, { served, restores: false, querystring })
  await respondAction({ ...custom, service, served, request, base: site.base, challenges: site.challenges }, next)
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
    const responseMemory = responseMemoryOf(context, limits.responseBytes)
    const request = { context, service, root: `${mountPoint(context)}${base}`, responseMemory }
    return respondPage(page, request, { context, session, resource: path.slice(1), challenges: site.challenges })
  }
  if (path === '' || service !== undefined) return void (await next())
  sendResponse(context, problemResponse(notConnected()))
}

function sessionOf({ session, serverTiming }: Site, resource: string, context: Context): DbSession {
  // Only reads are cancelled when the client disconnects; a write is completed.
  return tracedSession(session, resource, isGet(context) ? context.res : undefined, serverTiming)
}

function pageOf(pages: PagesByMethod, context: Context, path: string): PageHandler | undefined {
  if (isGet(context)) return pages.GET.get(path)
  const { method } = context
  return method === 'POST' || method === 'DELETE' ? pages[method].get(path) : undefined
}

function isGet({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD'
}
