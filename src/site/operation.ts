import type { IncomingHttpHeaders } from 'node:http'
import type { Context } from 'koa'
import type { ResourceRequest, ServedResource } from '../pipeline/service'
import { matchOf } from './custom-action'
import type { PageRequest } from './page'
import { openBody } from './payload'
import { splitTarget } from './request-target'
import type { Routers } from './routers'

/** Properties that all operations of one HTTP request share. */
export interface OperationMount {
  /** Path of the mount, without the prefix of `koa-mount` or Express. */
  readonly base: string
  readonly request: PageRequest
  /** The routes that the application has added to resources. */
  readonly routers: Routers
}

/** A request on a resource that is a part of another request. */
export interface Operation {
  readonly method: string
  /** Path with the query string, as clients see it: `/api/task/7/?fields=title`. */
  readonly target: string
  /** Segment of the key in the path, not decoded; undefined for the collection. */
  readonly segment: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/**
 * Whether a route of the application responds to requests with the method and path of an operation. Such a route cannot be
 * called for a part of another request, and the built-in action must not run in its place: the route may refuse it.
 */
export function isReplaced(
  { base, request: { root }, routers }: OperationMount,
  { method, target }: Pick<Operation, 'method' | 'target'>,
): boolean {
  const custom = routers.at(`${base}${splitTarget(target).path.slice(root.length)}`)
  return custom !== undefined && matchOf(custom, method) === 'route'
}

/** Converts an operation into a request on a resource, with the credentials of the HTTP request. */
export function operationRequest(
  { base, request }: OperationMount,
  { fullView, storeOf }: ServedResource,
  { method, target, segment, headers, body }: Operation,
): ResourceRequest {
  const { session, root, context, responseMemory } = request
  return {
    resource: fullView,
    storeOf,
    segment,
    restores: false,
    collection: `${root}/${fullView.name}/`,
    session,
    method,
    querystring: splitTarget(target).querystring,
    // The other headers belong to the HTTP request, whose origin has been checked.
    headers: { ...headers, 'content-length': context.get('Content-Length') || undefined },
    context: operationContext(context, method, target, `${base}${target.slice(root.length)}`),
    // An undefined value would mean that a middleware has read the body.
    readPayload: async () => ({ contentType: 'application/json', parsed: body ?? null }),
    // Never called: only imports open the body, and an operation cannot have their content type.
    openBody: () => openBody(context),
    responseMemory,
  }
}

/**
 * Koa's context of the HTTP request, with the method and path of an operation. An access rule may read them there, and must
 * not treat every operation as a POST.
 * @param target path of the operation, with the query string
 * @param url the same without the prefix of `koa-mount` or Express
 */
function operationContext(context: Context, method: string, target: string, url: string): Context {
  const req: Context['req'] = Object.create(context.req, { method: { value: method }, url: { value: url } })
  const originalUrl = { value: target }
  // Koa keeps the parsed URL in `memoizedURL` if the application has read it.
  const memoizedUrl = { value: undefined, writable: true }
  const request: Context['request'] = Object.create(context.request, {
    req: { value: req },
    originalUrl,
    memoizedURL: memoizedUrl,
  })
  return Object.create(context, { req: { value: req }, request: { value: request }, originalUrl })
}
