import { isReadMethod, RequestAuthentication } from '../access/request-authentication'
import type { Principal } from '../access/rule'
import { ApiError, methodNotAllowed } from '../errors'
import { emptyResponse, type HttpResponse, varyingByAccept, withCaching } from '../response/http-response'
import type { Resource } from '../schema/resource-view'
import { removeMany, updateMany } from './change-many'
import { requireCreatable } from './create'
import { createOrUpdate } from './create-or-update'
import { importFormat, withSpool } from './import'
import { remove, update } from './item-actions'
import { isKeyed, runKeyed } from './keyed-action'
import { list } from './list'
import { read } from './read'
import { renewAccess } from './renewed-access'
import { requireAccess } from './require-access'
import { restore } from './restore'
import { type Action, type PermittedRequest, permit, type ResourceRequest, type Service } from './service'
import { maxBodyBytes, receivePayload } from './write-body'

/** HTTP methods of a collection or an item. */
interface Methods {
  readonly actions: ReadonlyMap<string, Action>
  /** Response header that lists the methods. */
  readonly allow: { readonly Allow: string }
}

/** Methods of a writable resource (`all`), and those of a resource that can only be read. @param table actions by method */
function methodsOf(table: Readonly<Record<string, Action>>): { readonly all: Methods; readonly readOnly: Methods } {
  const toMethods = (entries: readonly [string, Action][]): Methods => ({
    actions: new Map(entries),
    allow: { Allow: entries.map(([method]) => method).join(', ') },
  })
  const all = Object.entries(table)
  return { all: toMethods(all), readOnly: toMethods(all.filter(([method]) => isReadMethod(method))) }
}

/** Refuses an anonymous request with 401 where a known principal gets 403 (specification: Permissions). */
function requireLogin<T>({ principal }: PermittedRequest, responding: Promise<T>): Promise<T> {
  if (principal.id !== null) return responding
  return responding.catch((error: unknown) => {
    const isForbidden = error instanceof ApiError && error.code === 'forbidden'
    throw isForbidden ? new ApiError('unauthorized', error.message) : error
  })
}

const collectionMethods = methodsOf({ GET: list, HEAD: list, OPTIONS: list, POST: createOrUpdate })
const bulkMethods = methodsOf({
  GET: list,
  HEAD: list,
  OPTIONS: list,
  POST: createOrUpdate,
  PATCH: updateMany,
  DELETE: removeMany,
})
const restoreMethods = methodsOf({ OPTIONS: restore, POST: restore })
const itemMethods = methodsOf({ GET: read, HEAD: read, OPTIONS: read, PUT: update, PATCH: update, DELETE: remove })

/** Request that the access rule has permitted, and the action that handles it. */
export interface AdmittedRequest {
  readonly request: PermittedRequest
  readonly action: Action
  readonly authentication: Authentication
}

type Authentication = RequestAuthentication<ResourceRequest['session']>

/** Methods of a collection. A write of several records cannot have the `If-Match` that `requireIfMatch` requires. */
function methodsOfCollection({ bulk, requireIfMatch }: Resource): typeof collectionMethods {
  return bulk > 0 && !requireIfMatch ? bulkMethods : collectionMethods
}

/**
 * Handles a request on a resource. The checks run in the order of the specification (Order of checks): access rule,
 * origin of a write and method here; query or body, record, owner, preconditions, values and constraints in the action.
 * If the body arrives slowly, the checks here run once more: the rights of the client may have changed in the meantime.
 * @throws {ApiError} for every refusal
 */
export async function handle(service: Service, request: ResourceRequest): Promise<HttpResponse> {
  const newAuthentication = (): Authentication =>
    new RequestAuthentication(service.verifyCredentials, request.session, request.context)
  if (request.method === 'OPTIONS') {
    await requireAccess(service, request, newAuthentication())
    return emptyResponse(methodsFor(request).allow)
  }
  const check = (): Promise<AdmittedRequest> => admit(service, request, newAuthentication())
  if (!methodsWithBody.has(request.method)) return perform(service, await check())
  const { first, afterBody } = await renewAccess(check)
  if (importFormat(first.request) !== undefined) {
    return requireLogin(first.request, handleImport(service, first.request, afterBody))
  }
  await receivePayload(request, maxBodyBytes(service, request))
  return perform(service, await afterBody())
}

/** Methods whose bodies are read. */
const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** @param afterBody returns the request whose access has been checked, when its body has arrived */
async function handleImport(
  service: Service,
  request: PermittedRequest,
  afterBody: () => Promise<AdmittedRequest>,
): Promise<HttpResponse> {
  // A file can be large, so it is not received from a principal who may not create records.
  if (request.parameters.onConflict === undefined) requireCreatable(request)
  return withSpool(service, request, async (spool) => {
    const admitted = await afterBody()
    return perform(service, { ...admitted, request: { ...admitted.request, spool } })
  })
}

/**
 * Checks the access rule, the origin, the method and the parameters of a request, which {@link perform} then handles.
 * @throws {ApiError} `unauthorized`, `forbidden`, `cross-origin`, `method-not-allowed`, `bad-query`
 */
export async function admit(
  service: Service,
  request: ResourceRequest,
  authentication: Authentication,
): Promise<AdmittedRequest> {
  return selectAction(service, request, authentication, await requireAccess(service, request, authentication))
}

/** Runs the action of a request. @throws {ApiError} for every refusal */
export async function perform(
  service: Service,
  { request, action, authentication }: AdmittedRequest,
): Promise<HttpResponse> {
  const responding = isKeyed(request) ? runKeyed(service, request, action) : action(service, request)
  const response = await requireLogin(request, responding)
  const cached = withCaching(response, request.principal.id === null && !authentication.hasPrivateRecords)
  // The headers of HEAD are those of GET (RFC 9110).
  return service.live !== undefined && ['GET', 'HEAD'].includes(request.method) ? varyingByAccept(cached) : cached
}

function methodsFor({ resource, segment, restores }: ResourceRequest): Methods {
  const methods = restores ? restoreMethods : segment === undefined ? methodsOfCollection(resource) : itemMethods
  return methods[resource.writable ? 'all' : 'readOnly']
}

/** @throws {ApiError} `method-not-allowed`, `bad-query` */
function selectAction(
  service: Service,
  request: ResourceRequest,
  authentication: Authentication,
  principal: Principal,
): AdmittedRequest {
  const { actions, allow } = methodsFor(request)
  const action = actions.get(request.method)
  if (action === undefined) throw methodNotAllowed(request.method, allow.Allow)
  return { request: permit(service, request, authentication, principal), action, authentication }
}
