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
 * @throws {ApiError} `unauthorized`
 * @throws {TypeError} if the rule returns anything but a principal, null or undefined: a mistake of the application
 */
export async function requirePrincipal(rule: Rule, request: AccessRequest, isOwned: boolean): Promise<Principal> {
  const principal = await rule(request)
  if (!principal) throw new ApiError('unauthorized', 'Authentication failed')
  if (principal.id === undefined) {
    throw new TypeError(
      `the access rule "${ruleTitle(rule)}" must return null, or { id } with the id of a user or null`,
    )
  }
  if (isOwned && principal.id === null && !request.reads) throw new ApiError('unauthorized', 'Authentication failed')
  return principal
}

/**
 * The name of a rule in messages: its title, or the name of the function, or "custom" for a function written in the
 * option `auth`.
 */
export function ruleTitle({ title, name }: Rule): string {
  return title ?? (name === '' || name === 'auth' ? 'custom' : name)
}
