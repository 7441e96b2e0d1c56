import { ApiError } from '../errors'
import type { AccessRequest, Principal, Rule } from './rule'

const readingMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** Whether a method only reads: the safe methods of RFC 9110 except TRACE. */
export function isReadMethod(method: string): boolean {
  return readingMethods.includes(method)
}

/**
 * Calls the access rule and returns its principal. It runs before the body or a record is read.
 * @param isOwned whether records have an owner; then writes require a principal with an id
 * @param forbidden status for a user with correct credentials whom the rule refuses
 * @throws {ApiError} `unauthorized`, `forbidden`
 * @throws {TypeError} if the rule returns anything but a principal, null or undefined: a mistake of the application
 */
export async function requirePrincipal(
  rule: Rule,
  request: AccessRequest,
  isOwned: boolean,
  forbidden: 401 | 403,
): Promise<Principal> {
  const principal = await rule(request)
  if (!principal) {
    const user = forbidden === 403 ? await request.authenticate() : undefined
    throw notPermitted(user, 'you may not send this request')
  }
  if (principal.id === undefined) {
    throw new TypeError(
      `the access rule "${ruleTitle(rule)}" must return null, or { id } with the id of a user or null`,
    )
  }
  if (isOwned && principal.id === null && !request.reads) throw unauthorized()
  return principal
}

/**
 * The user whose credentials a public read has; the principal of the rule if there are none, or wrong ones. So users see
 * their own records where others read without credentials (specification: Row scopes).
 */
export async function identifyReader(rule: Rule, request: AccessRequest, principal: Principal): Promise<Principal> {
  if (rule.read !== 'public' || !request.reads || principal.id !== null) return principal
  return request.credentials === undefined ? principal : ((await request.authenticate()) ?? principal)
}

/** The refusal of a request without credentials, or with wrong ones. */
function unauthorized(): ApiError {
  return new ApiError('unauthorized', 'Authentication failed')
}

/**
 * The refusal of a write that the principal is not permitted: 403, or 401 for an anonymous request
 * (specification: Permissions).
 */
export function notPermitted(principal: Principal | undefined, detail: string): ApiError {
  return principal === undefined || principal.id === null ? unauthorized() : new ApiError('forbidden', detail)
}

/**
 * The name of a rule in messages: its title, or the name of the function, or "custom" for a function written in the
 * option `auth`.
 */
export function ruleTitle({ title, name }: Rule): string {
  return title ?? (name === '' || name === 'auth' ? 'custom' : name)
}
