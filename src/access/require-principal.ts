import { ApiError } from '../errors'
import type { RequestAuthentication } from './request-authentication'
import { isUserId, type Principal, type Rule } from './rule'

/** What an access rule protects: a resource or a page. */
export interface Protected {
  readonly rule: Rule
  /** Name of the resource; undefined for a page. */
  readonly name?: string
  /** Set if records have owners (`ownerField`): then writes require a principal with an id. */
  readonly owner?: unknown
  /** Returns the key of the owner that a principal is. If there is one, writes require a key. */
  readonly ownerOf?: ((principal: Principal) => unknown) | undefined
}

/**
 * Calls the access rule and returns its principal. It runs before the body or a record is read.
 * @param refusalStatus status for a user with correct credentials whom the rule refuses
 * @param method HTTP method in upper case. Default: that of the request
 * @throws {ApiError} `unauthorized`, `forbidden`
 * @throws {TypeError} if the rule returns anything but a principal, null or undefined: a mistake of the application
 */
export async function requirePrincipal<Session>(
  { rule, name, owner, ownerOf }: Protected,
  authentication: RequestAuthentication<Session>,
  refusalStatus: 401 | 403,
  method?: string,
): Promise<Principal> {
  const request = authentication.accessRequest(name, method)
  const principal = await rule(request)
  if (!principal) {
    if (refusalStatus === 403 && (await authentication.principal()) !== undefined) {
      throw new ApiError('forbidden', 'you may not send this request')
    }
    throw unauthorized(rule, request.reads, authentication)
  }
  if (principal.id !== null && !isUserId(principal.id)) {
    throw new TypeError(
      `the access rule "${ruleTitle(rule)}" must return null, or { id } with the id of a user (a string or a number) or null`,
    )
  }
  if (owner !== undefined && principal.id === null && !request.reads) {
    throw new ApiError('unauthorized', 'writes need a user, because the resource has the option "ownerField"')
  }
  if (ownerOf !== undefined && !request.reads && ownerOf(principal) === undefined) {
    if (refusalStatus === 403) throw new ApiError('forbidden', 'you cannot own records of this resource')
    throw new ApiError('unauthorized', 'the option "ownerField" returns no owner for this user')
  }
  return principal
}

/**
 * Identifies the user who reads a resource with public reading, so that row scopes and permissions apply to this user and
 * not to an anonymous reader (specification: Row scopes).
 * @param principal what the access rule has returned
 * @returns the user of the request's credentials; `principal` if the credentials are missing or wrong, and for every other
 * request
 */
export async function identifyReader<Session>(
  { rule, name }: Protected,
  authentication: RequestAuthentication<Session>,
  principal: Principal,
): Promise<Principal> {
  if (rule.read !== 'public' || principal.id !== null || !authentication.hasCredentials) return principal
  const request = authentication.accessRequest(name)
  return request.reads ? ((await request.authenticate()) ?? principal) : principal
}

/**
 * The refusal (401) of a request for which the access rule has returned no principal. The message is in the refusal event
 * of `diagnostics_channel` and in the log of the data source; the response does not contain it.
 */
function unauthorized<Session>(
  rule: Rule,
  reads: boolean,
  { hasCredentials, rejection }: RequestAuthentication<Session>,
): ApiError {
  if (rule.writes === false && !reads)
    return new ApiError('unauthorized', `the rule "${ruleTitle(rule)}" permits no writes`)
  if (rejection !== undefined) return new ApiError('unauthorized', rejection.reason, { challenge: rejection.challenge })
  const reason = hasCredentials
    ? `the rule "${ruleTitle(rule)}" does not permit this user or request`
    : 'the request has no credentials'
  return new ApiError('unauthorized', reason)
}

/**
 * The name of a rule in messages: its title, or the name of the function, or "custom" if the function has no name of its
 * own. JavaScript names a function that is written in the option `auth` after this property.
 */
export function ruleTitle({ title, name }: Rule): string {
  return title ?? (name === '' || name === 'auth' ? 'custom' : name)
}
