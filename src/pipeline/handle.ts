import { isReadMethod, RequestAuthentication } from '../access/request-authentication'
import type { Principal } from '../access/rule'
import { ApiError, methodNotAllowed } from '../errors'
import type { ImportFile } from '../request/import-records'
import { emptyResponse, type HttpResponse, varyingByAccept, withCaching } from '../response/http-response'
import type { Resource } from '../schema/resource-view'
import { removeMany, updateMany } from './change-many'
import { createOrUpdate } from './create-or-update'
import { importFormat, withImportFile } from './import'
import { remove, update } from './item-actions'
import { isKeyed, prepareKeyed } from './keyed-action'
import { list } from './list'
import { read } from './read'
import { renewAccess } from './renewed-access'
import { requireAccess } from './require-access'
import { restore } from './restore'
import {
  type Action,
  type BodyAction,
  type HandleBody,
  type PermittedRequest,
  permit,
  type ResourceRequest,
  type Service,
} from './service'
import { maxBodyBytes, receivePayload } from './write-body'

/** HTTP methods of a collection or an item. */
interface Methods {
  readonly actions: ReadonlyMap<string, Action | BodyAction>
  /** Response header that lists the methods. */
  readonly allow: { readonly Allow: string }
}

/** Methods of a writable resource (`all`), and those of a resource that can only be read. @param table actions by method */
function methodsOf(table: Readonly<Record<string, Action | BodyAction>>): {
  readonly all: Methods
  readonly readOnly: Methods
} {
  const toMethods = (entries: readonly [string, Action | BodyAction][]): Methods => ({
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
  readonly action: Action | BodyAction
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
    new RequestAuthentication(
      service.verifyCredentials,
      request.session,
      request.context,
      service.live?.credentialChanges,
    )
  if (request.method === 'OPTIONS') {
    await requireAccess(service, request, newAuthentication())
    return emptyResponse(methodsFor(request).allow)
  }
  const start = async (): Promise<StartedRequest> =>
    startAction(service, await admit(service, request, newAuthentication()))
  const first = await start()
  const { admitted, outcome } = first
  if (typeof outcome !== 'function') return withHeaders(service, admitted, outcome)
  const renewed = renewAccess(first, start)
  const format = importFormat(request)
  if (format !== undefined) {
    return withImportFile(service, admitted.request, format, async (file) => finish(service, await renewed(), file))
  }
  await receivePayload(request, maxBodyBytes(service, request))
  return finish(service, await renewed())
}

/** Request whose action has been called. */
interface StartedRequest {
  readonly admitted: AdmittedRequest
  /** The response of the action; if the action reads the body, a function to call when the body has arrived. */
  readonly outcome: HttpResponse | HandleBody
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

/** Runs the action of a request whose body has arrived. @throws {ApiError} for every refusal */
export async function perform(service: Service, admitted: AdmittedRequest): Promise<HttpResponse> {
  return finish(service, await startAction(service, admitted))
}

/** Calls the action of a request, which may wait for the body before it responds. @throws {ApiError} for every refusal */
async function startAction(service: Service, admitted: AdmittedRequest): Promise<StartedRequest> {
  const { request, action } = admitted
  const starting = isKeyed(request) ? prepareKeyed(service, request, action) : action(service, request)
  return { admitted, outcome: await requireLogin<StartedRequest['outcome']>(request, starting) }
}

/** Returns the response to a request whose body has arrived. @param file the body of an import */
async function finish(
  service: Service,
  { admitted, outcome }: StartedRequest,
  file?: ImportFile,
): Promise<HttpResponse> {
  const response = typeof outcome === 'function' ? await requireLogin(admitted.request, outcome(file)) : outcome
  return withHeaders(service, admitted, response)
}

/** Adds the headers of all responses of resources. */
function withHeaders(
  service: Service,
  { request, authentication }: AdmittedRequest,
  response: HttpResponse,
): HttpResponse {
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
