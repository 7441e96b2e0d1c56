import type { Context } from 'koa'
import { isReadMethod, RequestAuthentication } from '../access/request-authentication'
import { methodNotAllowed } from '../errors'
import { requireAccess } from '../pipeline/require-access'
import type { ResourceRequest, ServedResource, Service } from '../pipeline/service'
import { emptyResponse, type HttpResponse } from '../response/http-response'
import { describeResource } from './mounted-resource'
import { errorResponse, publishRequest, sendResponse } from './respond'
import type { ActionState, CustomPath, ResourceRouter } from './routers'
import { visibleRecords } from './visible-records'

/** Request on a path of a resource for which the application has added a route. */
export interface ActionRequest extends CustomPath {
  readonly service: Service
  readonly served: ServedResource
  readonly request: ResourceRequest
  /** Path of the mount: `/api`. */
  readonly base: string
  readonly challenges: readonly string[]
}

/** Whether the application has added a route for a path and a method, or only for the path; undefined if neither. */
export function matchOf({ router, path }: CustomPath, method: string): 'route' | 'path' | undefined {
  const { route, path: layers } = router.match(path, method)
  if (route) return 'route'
  return layers.some(({ methods }) => methods.length > 0) ? 'path' : undefined
}

/**
 * Checks the access rule of the resource and the origin of a write, and then lets the middleware of the application respond
 * (specification: Custom actions). Errors get the same responses as those of any other request.
 */
export async function respondAction(
  { service, served, request, router, path, base, challenges }: ActionRequest,
  next: () => Promise<unknown>,
): Promise<void> {
  const { resource, session, method } = request
  const context = request.context as Context
  const start = performance.now()
  try {
    const authentication = new RequestAuthentication(service.verifyCredentials, session, context)
    const principal = await requireAccess(service, request, authentication)
    const { route, path: layers } = router.match(path, method)
    if (route) {
      const state: ActionState = {
        principal,
        view: describeResource(served.storeOf(principal).view, base),
        visible: (alias) => visibleRecords(service, served, principal, alias, !isReadMethod(method)),
      }
      Object.assign(context.state, state)
      // The router would use the path that Koa has parsed, without the trailing slash.
      Object.assign(context, { newRouterPath: path })
      await router.routes()(context as Parameters<ReturnType<ResourceRouter['routes']>>[0], next as () => Promise<void>)
      addHeaders(context)
    } else sendResponse(context, otherMethod(method, layers))
  } catch (error) {
    sendResponse(context, errorResponse({ context, session, resource: resource.name, challenges }, error))
  }
  if (session.trace !== undefined) publishRequest(request, session.trace, context.status, performance.now() - start)
}

/**
 * The response to a method for which a path has no route, as for a path of the service.
 * @throws {ApiError} `method-not-allowed`, unless the method is OPTIONS
 */
function otherMethod(method: string, layers: ResourceRouter['stack']): HttpResponse {
  const allowed = ['OPTIONS', ...new Set(layers.flatMap(({ methods }) => methods))].join(', ')
  if (method === 'OPTIONS') return emptyResponse({ Allow: allowed })
  throw methodNotAllowed(method, allowed)
}

/** Adds the headers of all responses of resources, unless the application has set its own. */
function addHeaders({ response, res }: Context): void {
  response.vary('Authorization')
  response.set('X-Content-Type-Options', 'nosniff')
  if (!res.hasHeader('Cache-Control')) response.set('Cache-Control', 'private, no-cache')
}
