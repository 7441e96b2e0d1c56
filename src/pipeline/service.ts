import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Authenticator } from '../access/authenticator'
import type { FailedLoginLimits } from '../access/passwords/failed-logins'
import type { PasswordChecks } from '../access/passwords/password-checks'
import { isReadMethod, type RequestAuthentication, type VerifyCredentials } from '../access/request-authentication'
import { requirePrincipal } from '../access/require-principal'
import type { AccessRequest, Principal } from '../access/rule'
import { type DbSession, type DbTransaction, withPrincipal } from '../connection/db-session'
import type { TransactionSettings } from '../dialect/dialect'
import { ApiError } from '../errors'
import type { LiveLists } from '../live/live-lists'
import { Policies } from '../query/policies'
import type { QueryShapeCache } from '../query/query-shape'
import type { Store } from '../read/store'
import type { Payload } from '../request/body'
import type { CursorTokens } from '../request/cursor'
import type { ImportFile } from '../request/import-records'
import type { Limits } from '../request/limits'
import type { DeletedRecords } from '../request/list-request'
import { noWriteParameters, parseWriteParameters, type WriteParameters } from '../request/write-parameters'
import type { ResponseMemory } from '../response/held-bytes'
import type { HttpResponse } from '../response/http-response'
import type { Resource, ResourceView } from '../schema/resource-view'
import type { PasswordChange } from '../write/password-change'
import { type WriteStore, withPolicies } from '../write/write-store'
import type { Idempotency } from './idempotency'
import type { KeyedQueue } from './keyed-queue'
import type { Profiles } from './profiles'
import type { RunningWork } from './running-work'
import type { SpooledBytes } from './spooled-bytes'
import type { StreamedLists } from './streamed-lists'

/** Everything that the requests of a mount share. It is built when the data source is initialized. */
export interface Service {
  /** Resources by name. */
  readonly resources: ReadonlyMap<string, ServedResource>
  /** The views of the resources by the field permissions of principals. */
  readonly profiles: Profiles
  readonly limits: Limits
  /** The lists that are being streamed. */
  readonly streams: StreamedLists
  /** The live lists; undefined without the option `live`. */
  readonly live: LiveLists | undefined
  /** The imports that are running. */
  readonly imports: RunningWork
  /** The bytes of imports that have been received. */
  readonly spooledBytes: SpooledBytes
  /** Queue of updates with related records that are repeated, for databases on which all requests share one connection. */
  readonly updates: KeyedQueue
  readonly allowedOrigins: readonly string[]
  /** Whether texts in CSV that a spreadsheet would run as formulas are escaped. */
  readonly escapeFormulas: boolean
  /** Status for a user with correct credentials whom an access rule refuses. */
  readonly forbidden: 401 | 403
  readonly verifyCredentials: VerifyCredentials<DbSession>
  readonly authenticators: readonly Authenticator[]
  readonly passwords: PasswordChecks
  /** The limits on failed logins; undefined if there are none. */
  readonly failedLogins: FailedLoginLimits | undefined
  /** Changes passwords of users; undefined without the option `passwordChange`. */
  readonly passwordChange: PasswordChange | undefined
  /** Executes writes with the header `Idempotency-Key` once; undefined if the data source does not have its entity. */
  readonly idempotency: Idempotency | undefined
  /** Cached query shapes of list requests. */
  readonly queryShapes: QueryShapeCache
  /** Whether a resource of the mount has a policy or field permissions, or the mount has `strictRelations`. */
  readonly hasPolicies: boolean
  readonly cursorTokens: CursorTokens
  /**
   * Returns the settings of the database for a principal; undefined without the option `databaseSettings`.
   * @throws {TypeError} if the function of the option returns invalid settings
   */
  readonly settingsFor: ((principal: Principal) => TransactionSettings | undefined) | undefined
}

/** A resource of a service, with the stores of its views. */
export interface ServedResource {
  /** The resource as it looks to a principal who has all field permissions. */
  readonly fullView: ResourceView
  /** The store of `fullView`. */
  readonly fullStore: WriteStore
  /** Returns the store of the view that a principal has of the resource. It must be called once for each check of the access. */
  readonly storeOf: (principal: Principal) => WriteStore
}

/** Builds the resources of a service. */
export function buildServedResources({ full, dependOnPrincipal, profileOf }: Profiles): Service['resources'] {
  return new Map(
    [...full.views].map(([name, fullView]) => {
      const fullStore = full.storeOf(name)
      // Without field permissions, this is the fast path of every request.
      const storeOf = dependOnPrincipal ? (principal: Principal) => profileOf(principal).storeOf(name) : () => fullStore
      return [name, { fullView, fullStore, storeOf }]
    }),
  )
}

/** All resources of a service, as they look to a principal who has all field permissions. */
export function viewsOf({ resources }: Service): readonly ResourceView[] {
  return [...resources.values()].map(({ fullView }) => fullView)
}

/** Request on a resource, before authentication. */
export interface ResourceRequest {
  readonly resource: Resource
  /** Returns the store of the view that a principal has of the resource. */
  readonly storeOf: ServedResource['storeOf']
  readonly session: DbSession
  /** Segment of the key in the path, not decoded; undefined for the collection. */
  readonly segment: string | undefined
  /** Whether the path is that of an item, followed by `restore`. */
  readonly restores: boolean
  /** HTTP method, in upper case. */
  readonly method: string
  readonly querystring: string
  readonly headers: IncomingHttpHeaders
  /** Path of the collection: `/api/note/`. */
  readonly collection: string
  /** Koa's context. */
  readonly context: AccessRequest['context']
  /**
   * Reads the body. Further calls return what the first call has read.
   * @param limit maximum size of the body, in bytes
   * @param onReceived called with the size of what has arrived so far; an error that it throws refuses the body
   */
  readonly readPayload: (limit: number, onReceived?: (size: number) => void) => Promise<Payload>
  /** Opens the body as a stream, for an import. */
  readonly openBody: () => Readable
  /** Memory of the response. It is created by the first call, because small responses are not counted. */
  readonly responseMemory: () => ResponseMemory
}

/** Request that may read records, with the store that reads them. */
export interface ReadRequest extends ResourceRequest {
  readonly store: Store
  /** Which soft-deleted records an item path may name. Default: none. */
  readonly deleted?: DeletedRecords | undefined
}

/** Request that the access rule has permitted. Its body, and the parameters of a read, are not parsed yet. */
export interface PermittedRequest extends ReadRequest {
  readonly principal: Principal
  /** Parameters of a write; {@link noWriteParameters} for a read, and for a write of all records that match filters. */
  readonly parameters: WriteParameters
  readonly store: WriteStore
  /** Whether the access rule of the resource with this name permits the principal to read it. */
  readonly mayRead: (resource: string) => Promise<boolean>
  /**
   * Requires that the access rule of the resource permits the principal another method too, for a request that may write in
   * more than one way.
   * @throws {ApiError} `unauthorized`, `forbidden`
   */
  readonly requireMethod: (method: string) => Promise<void>
  /**
   * The principal that the access rule of a resource returns for a method. The rule is called once for each resource and
   * method.
   * @throws {ApiError} `unauthorized`, `forbidden`
   */
  readonly principalFor: (resource: Resource, method: string) => Promise<Principal>
  /** Authentication of the request, for the access rules of other resources. */
  readonly authentication: RequestAuthentication<DbSession>
  /**
   * Hashes of the passwords in the body, by password. Each is removed when it is used for a record; a repeated transaction hashes
   * again. Undefined if passwords are hashed when they are written.
   */
  readonly passwordHashes?: Map<string, string[]>
}

/** Request in the transaction of its session. */
export type TransactionRequest = PermittedRequest & { readonly session: DbTransaction }

/** Handles one HTTP method whose body is not read, after the checks of the access rule. */
export type Action = (service: Service, request: PermittedRequest) => Promise<HttpResponse>

/**
 * Makes the checks of one HTTP method that do not need the body, after those of the access rule. It is called again if the
 * body takes long to arrive.
 */
export type BodyAction = (service: Service, request: PermittedRequest) => Promise<HandleBody>

/**
 * Handles a request whose body has arrived.
 * @param file the body of an import; any other body is read by {@link ResourceRequest.readPayload}
 */
export type HandleBody = (file?: ImportFile) => Promise<HttpResponse>

/**
 * Returns a function that tells whether the principal of a request may read a resource, by its access rule. The rule is
 * called as for a GET, and at most once for each resource.
 */
function mayReadOf(
  service: Service,
  authentication: RequestAuthentication<DbSession>,
  principal: Principal,
): PermittedRequest['mayRead'] {
  const mayReadOnce = async (name: string): Promise<boolean> => {
    const rule = service.resources.get(name)?.fullView.rule
    if (rule === undefined) return false
    const reader = await rule(authentication.accessRequest(name, 'GET'))
    if (!reader) return false
    if (reader.id !== null) authentication.hasPrivateRecords = true
    // A GET with an API key that may not read a public resource is anonymous, and sees other records than the user.
    return principal.id === null || rule.read !== 'public' || authentication.permits(name, 'GET')
  }
  let results: Map<string, Promise<boolean>> | undefined
  return (name) => {
    results ??= new Map()
    const result = results.get(name) ?? mayReadOnce(name)
    results.set(name, result)
    return result
  }
}

/** Returns the function {@link PermittedRequest.principalFor} of a request. */
function principalForOf(
  { forbidden }: Service,
  authentication: RequestAuthentication<DbSession>,
): PermittedRequest['principalFor'] {
  let principals: Map<string, Promise<Principal>> | undefined
  return (view, method) => {
    principals ??= new Map()
    const key = `${method} ${view.name}`
    const principal = principals.get(key) ?? requirePrincipal(view, authentication, forbidden, method)
    principals.set(key, principal)
    return principal
  }
}

/**
 * The parameters of a write. Those of reads, and of writes of all records that match filters, are parsed by their actions.
 * @throws {ApiError} `bad-query`
 */
function writeParametersOf(
  { limits }: Service,
  { method, segment, querystring }: ResourceRequest,
  { optionalParameters }: ResourceView,
): WriteParameters {
  const isCreation = segment === undefined && method === 'POST'
  if (isReadMethod(method) || (segment === undefined && !isCreation)) return noWriteParameters
  const canInclude = method !== 'DELETE' && optionalParameters.has('include')
  return parseWriteParameters(querystring, { isCreation, canInclude }, limits)
}

/**
 * Adds to a request the principal that the access rule has permitted, its store, and the parameters of a write. The properties
 * are copied one by one, because a spread took a sixth of the time of a GET of an item.
 * @throws {ApiError} `bad-query`
 */
export function permit(
  service: Service,
  request: ResourceRequest,
  authentication: RequestAuthentication<DbSession>,
  principal: Principal,
): PermittedRequest {
  const { resource, storeOf, session, segment, restores, method, querystring, headers, collection, context } = request
  const { readPayload, openBody, responseMemory } = request
  const settings = service.settingsFor?.(principal)
  const viewStore = storeOf(principal)
  const mayRead = mayReadOf(service, authentication, principal)
  const principalFor = principalForOf(service, authentication)
  const requireMethod = async (other: string): Promise<void> => {
    const { id } = await principalFor(resource, other)
    if (id !== principal.id) throw new ApiError('unauthorized', `the access rule returns another user for ${other}`)
  }
  const store = service.hasPolicies
    ? withPolicies(viewStore, new Policies(principal, service.queryShapes, mayRead))
    : viewStore
  return {
    resource,
    storeOf,
    session: withPrincipal(session, principal, settings),
    segment,
    restores,
    method,
    querystring,
    headers,
    collection,
    context,
    readPayload,
    openBody,
    responseMemory,
    principal,
    parameters: writeParametersOf(service, request, store.view),
    store,
    mayRead,
    requireMethod,
    principalFor,
    authentication,
  }
}
