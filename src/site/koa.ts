import type { Context, Middleware } from 'koa'
import { type DbSession, openSession } from '../connection/db-session'
import { ApiError, notConnected } from '../errors'
import type { ResourceRequest, ServedResource, Service } from '../pipeline/service'
import type { Payload } from '../request/body'
import type { Limits } from '../request/limits'
import type { ResponseMemory } from '../response/held-bytes'
import { problemResponse } from '../response/http-response'
import { matchOf, respondAction } from './custom-action'
import { requestMemory, reserveHead } from './held-bytes'
import type { PageHandler, PagesByMethod } from './page'
import { openBody, readPayload } from './payload'
import { isClosing, isPipelined, waitForPrevious } from './pipelining'
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
    const responder = responderOf(site, pathPattern, context)
    if (responder === 'none') return next()
    if (responder === 'not-connected') return sendResponse(context, problemResponse(notConnected()))
    const { responseMemory, noteHandled } = requestMemory(context, limits.responseBytes)
    try {
      const waiting = reserveAndWait(context, limits, responseMemory)
      if (waiting === undefined || (await waiting)) await responder(responseMemory, next)
    } finally {
      noteHandled()
    }
  }
}

/**
 * Reserves the memory of a request, and lets it wait for earlier requests of its connection. If there is not enough memory, the
 * request is refused. The connection of a pipelined request is closed instead: a response would have to wait for the earlier
 * ones, and Node.js would keep the request until then.
 * @returns undefined if there is nothing to wait for; otherwise whether to respond
 */
function reserveAndWait(
  context: Context,
  { pipelined }: Limits,
  responseMemory: () => ResponseMemory,
): Promise<boolean> | undefined {
  const mustWait = isPipelined(context)
  // Node.js passes on the other requests that it has read from the connection.
  if (mustWait && isClosing(context)) return Promise.resolve(false)
  try {
    reserveHead(context.req, mustWait, responseMemory)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const response = problemResponse(error)
    // A client that accepts no body would keep the stream of an HTTP/2 request open. Without a body, the headers end the stream.
    if (mustWait) context.req.socket.destroy()
    else sendResponse(context, context.req.httpVersionMajor < 2 ? response : { ...response, body: '' })
    return Promise.resolve(false)
  }
  return mustWait ? waitForPrevious(context, pipelined, responseMemory()) : undefined
}

/** Responds to a request. @param next calls the next middleware, which the middleware of a custom action may do */
type Responder = (responseMemory: () => ResponseMemory, next: () => Promise<unknown>) => Promise<void>

/** `none` for a request of the next middleware, `not-connected` while the data source is not initialized. */
type FoundResponder = Responder | 'none' | 'not-connected'

/** Finds what responds to a request. */
function responderOf(site: Site, pathPattern: RegExp, context: Context): FoundResponder {
  const { base, routers, serverTiming, challenges } = site
  const target = targetOf(context)
  if (target === undefined) return 'none'
  const { path, querystring } = splitTarget(target)
  const custom = routers.at(path)
  const match = custom && matchOf(custom, context.method)
  const builtIn = match === 'route' ? null : pathPattern.exec(path)
  if (builtIn === null) {
    return custom === undefined || match === undefined ? 'none' : customResponder(site, context, custom, querystring)
  }
  const [, name = '', segment, operation] = builtIn
  const service = site.service()
  const served = service?.resources.get(name)
  // Without `may.restore`, the path belongs to the application.
  const isOther = operation !== undefined && service !== undefined && served?.fullView.may.restore === undefined
  if (isOther) return 'none'
  if (service === undefined || served === undefined) {
    return pageResponder(site, context, path.slice(base.length).replace(/\/$/, ''))
  }
  return (responseMemory) => {
    const restores = operation !== undefined
    const request = requestOf(site, context, { served, segment, restores, querystring, responseMemory })
    return respond(service, request, serverTiming, challenges)
  }
}

/** Parts of the path and the query string of a request, and its memory. */
interface RequestedPath extends Pick<ResourceRequest, 'responseMemory'> {
  readonly served: ServedResource
  readonly segment?: string | undefined
  readonly restores: boolean
  readonly querystring: string
}

function requestOf(
  site: Site,
  context: Context,
  { served: { fullView, storeOf }, segment, restores, querystring, responseMemory }: RequestedPath,
): ResourceRequest {
  const { name } = fullView
  let payload: Promise<Payload> | undefined
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
    readPayload: (...args) => {
      payload ??= readPayload(context, ...args)
      return payload
    },
    openBody: () => openBody(context),
    responseMemory,
  }
}

/** Responder for a path for which the application has added a route. */
function customResponder(site: Site, context: Context, custom: CustomPath, querystring: string): FoundResponder {
  const { base, challenges } = site
  const service = site.service()
  const served = service?.resources.get(custom.name)
  if (service === undefined || served === undefined) return 'not-connected'
  return (responseMemory, next) => {
    const request = requestOf(site, context, { served, restores: false, querystring, responseMemory })
    return respondAction({ ...custom, service, served, request, base, challenges }, next)
  }
}

/**
 * Responder for a path below the mount that does not name a known resource: the page at this path, if there is one.
 * @param path relative to the mount, without a trailing slash: `/health`; empty for the mount itself
 */
function pageResponder(site: Site, context: Context, path: string): FoundResponder {
  const { base, pages, challenges } = site
  const service = site.service()
  const page = pageOf(pages, context, path)
  if (page === undefined) return path === '' || service !== undefined ? 'none' : 'not-connected'
  return (responseMemory) => {
    const session = openSession(site.session, { address: context.ip })
    const request = { context, session, service, root: `${mountPoint(context)}${base}`, responseMemory }
    return respondPage(page, request, { context, session, resource: path.slice(1), challenges })
  }
}

function sessionOf({ session, serverTiming }: Site, resource: string, context: Context): DbSession {
  // Only reads are cancelled when the client disconnects; a write is completed.
  const client = isGet(context) ? context.res : undefined
  return tracedSession(session, resource, { address: context.ip, client }, serverTiming)
}

function pageOf(pages: PagesByMethod, context: Context, path: string): PageHandler | undefined {
  if (isGet(context)) return pages.GET.get(path)
  const { method } = context
  return method === 'POST' || method === 'DELETE' ? pages[method].get(path) : undefined
}

function isGet({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD'
}
