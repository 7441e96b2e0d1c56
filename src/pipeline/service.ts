import type { IncomingHttpHeaders } from 'node:http'
import type { Authenticator } from '../access/authenticator'
import type { FailedLoginLimits } from '../access/passwords/failed-logins'
import type { PasswordChecks } from '../access/passwords/password-checks'
import type { RequestAuthentication, VerifyCredentials } from '../access/request-authentication'
import type { AccessRequest, Principal } from '../access/rule'
import { type DbSession, withPrincipal } from '../connection/db-session'
import type { TransactionSettings } from '../dialect/dialect'
import { Policies } from '../query/policies'
import type { QueryShapeCache } from '../query/query-shape'
import type { Store } from '../read/store'
import type { Payload } from '../request/body'
import type { CursorTokens } from '../request/cursor'
import type { Limits } from '../request/limits'
import type { ResponseMemory } from '../response/held-bytes'
import type { HttpResponse } from '../response/http-response'
import type { Resource, ResourceView } from '../schema/resource-view'
import type { PasswordChange } from '../write/password-change'
import { type WriteStore, withPolicies } from '../write/write-store'
import type { Profiles } from './profiles'
import type { RunningStreams } from './running-streams'

/** Everything that the requests of a mount share. It is built when the data source is initialized. */
export interface Service {
  /** Resources by name. */
  readonly resources: ReadonlyMap<string, ServedResource>
  /** The views of the resources by the field permissions of principals. */
  readonly profiles: Profiles
  readonly limits: Limits
  /** The lists that are being streamed. */
  readonly streams: RunningStreams
  readonly allowedOrigins: readonly string[]
  /** Whether texts in CSV cannot be formulas of a spreadsheet. */
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
  /** Returns the store of the view that a principal has of the resource. It must be called once per request. */
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
  /** Last segment of an item path, not decoded; undefined for the collection. */
  readonly segment: string | undefined
  /** HTTP method, in upper case. */
  readonly method: string
  readonly querystring: string
  readonly headers: IncomingHttpHeaders
  /** Path of the collection: `/api/note/`. */
  readonly collection: string
  /** Koa's context. */
  readonly context: AccessRequest['context']
  /** Reads the body. @param limit maximum size of the body, in bytes */
  readonly readPayload: (limit: number) => Promise<Payload>
  /** Memory of the response. It is created by the first call, because small responses are not counted. */
  readonly responseMemory: () => ResponseMemory
}

/** Request that may read records, with the store that reads them. */
export interface ReadRequest extends ResourceRequest {
  readonly store: Store
}

/** Request that the access rule has permitted. Its query or body is not parsed yet. */
export interface PermittedRequest extends ReadRequest {
  readonly principal: Principal
  readonly store: WriteStore
  /** Whether the access rule of the resource with this name permits the principal to read it. */
  readonly mayRead: (resource: string) => Promise<boolean>
}

/** Handles one HTTP method. It runs after the checks of the access rule. */
export type Action = (service: Service, request: PermittedRequest) => Promise<HttpResponse>

/**
 * Returns a function that tells whether the principal of a request may read a resource, by its access rule. The rule is
 * called as for a GET.
 */
function mayReadOf(
  service: Service,
  authentication: RequestAuthentication<DbSession>,
  principal: Principal,
): PermittedRequest['mayRead'] {
  return async (name) => {
    const rule = service.resources.get(name)?.fullView.rule
    if (rule === undefined) return false
    const request = authentication.accessRequest(name, 'GET')
    const reader = await rule(request)
    if (!reader) return false
    if (reader.id !== null) authentication.hasPrivateRecords = true
    // A GET with an API key that may not read a public resource is anonymous, and sees other records than the user.
    return principal.id === null || rule.read !== 'public' || Boolean(await request.authenticate())
  }
}

/**
 * Adds to a request the principal that the access rule has permitted, and its store. The properties are copied one by
 * one, because a spread took a sixth of the time of a GET of an item.
 */
export function permit(
  service: Service,
  request: ResourceRequest,
  authentication: RequestAuthentication<DbSession>,
  principal: Principal,
): PermittedRequest {
  const { resource, storeOf, session, segment, method, querystring, headers, collection, context } = request
  const { readPayload, responseMemory } = request
  const settings = service.settingsFor?.(principal)
  const viewStore = storeOf(principal)
  const mayRead = mayReadOf(service, authentication, principal)
  const store = service.hasPolicies
    ? withPolicies(viewStore, new Policies(principal, service.queryShapes, mayRead))
    : viewStore
  return {
    resource,
    storeOf,
    session: withPrincipal(session, principal, settings),
    segment,
    method,
    querystring,
    headers,
    collection,
    context,
    readPayload,
    responseMemory,
    principal,
    store,
    mayRead,
  }
}
