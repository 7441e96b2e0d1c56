import { requireSameOrigin } from '../access/cross-origin'
import { isReadMethod, RequestAuthentication } from '../access/request-authentication'
import { identifyReader, requirePrincipal } from '../access/require-principal'
import { ApiError } from '../errors'
import { emptyResponse, type HttpResponse, withCaching } from '../response/http-response'
import { create, list, remove, update } from './actions'
import { read } from './read'
import { type Action, permit, type ResourceRequest, type Service } from './service'

/** HTTP methods of a collection or an item. */
interface Methods {
  readonly actions: ReadonlyMap<string, Action>
  /** Response header that lists the methods. */
  readonly allow: { readonly Allow: string }
}

/** Methods of a resource that can be written, and of one that cannot. @param table actions by method */
function methodsOf(table: Readonly<Record<string, Action>>): { readonly all: Methods; readonly reading: Methods } {
  const toMethods = (entries: readonly [string, Action][]): Methods => ({
    actions: new Map(entries),
    allow: { Allow: entries.map(([method]) => method).join(', ') },
  })
  const all = Object.entries(table)
  return { all: toMethods(all), reading: toMethods(all.filter(([method]) => isReadMethod(method))) }
}

/** Refuses an anonymous request with 401 where a known principal gets 403 (specification: Permissions). */
function requireLogin(error: unknown): never {
  const isForbidden = error instanceof ApiError && error.code === 'forbidden'
  throw isForbidden ? new ApiError('unauthorized', error.message) : error
}

const collectionMethods = methodsOf({ GET: list, HEAD: list, OPTIONS: list, POST: create })
const itemMethods = methodsOf({ GET: read, HEAD: read, OPTIONS: read, PUT: update, PATCH: update, DELETE: remove })

/**
 * Handles a request on a resource. The checks run in the order of the specification (Order of checks): access rule,
 * origin of a write and method here; query or body, record, owner, preconditions, values and constraints in the action.
 * @throws {ApiError} for every refusal
 */
export async function handle(service: Service, request: ResourceRequest): Promise<HttpResponse> {
  const { resource, session, method, segment, headers, context } = request
  const authentication = new RequestAuthentication(service.verifyCredentials, session, context)
  const permitted = await requirePrincipal(resource, authentication, service.forbidden)
  const principal = service.hasPolicies ? await identifyReader(resource, authentication, permitted) : permitted
  if (!isReadMethod(method)) {
    const { origin, 'sec-fetch-site': fetchSite } = headers
    requireSameOrigin({ origin, fetchSite, host: context.host }, service.allowedOrigins)
  }
  const methods = segment === undefined ? collectionMethods : itemMethods
  const { actions, allow } = methods[resource.writable ? 'all' : 'reading']
  if (method === 'OPTIONS') return emptyResponse(allow)
  const action = actions.get(method)
  if (action !== undefined) {
    const isAnonymous = principal.id === null
    const responding = action(service, permit(service, request, authentication, principal))
    return withCaching(await (isAnonymous ? responding.catch(requireLogin) : responding), isAnonymous)
  }
  const detail = `${method} is not allowed here; allowed methods: ${allow.Allow}`
  throw new ApiError('method-not-allowed', detail, { headers: allow })
}
