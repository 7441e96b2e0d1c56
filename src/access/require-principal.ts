import { ApiError } from '../errors'
import type { AccessRequest, Principal, Rule } from './rule'

const reading: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** Whether a method only reads (RFC 9110, safe methods, but for TRACE). */
export function isReading(method: string): boolean {
  return reading.includes(method)
}

/**
 * Asks the access rule, before anything is read.
 * @param isOwned whether records belong to somebody: nobody can own one without being somebody
 * @throws {ApiError} `unauthorized`
 * @throws {TypeError} for an answer that is no principal, which is the application's mistake
 */
export async function requirePrincipal(rule: Rule, request: AccessRequest, isOwned: boolean): Promise<Principal> {
  const principal = await rule(request)
  if (!principal) throw new ApiError('unauthorized', 'Authentication failed')
  if (principal.id === undefined) {
    throw new TypeError(`the access rule "${ruleTitle(rule)}" must answer with null, or with { id } of a user or null`)
  }
  if (isOwned && principal.id === null && !request.reads) throw new ApiError('unauthorized', 'Authentication failed')
  return principal
}

/** What to call a rule: its title, or the name of the function, which is `auth` where it was written in the options. */
export function ruleTitle({ title, name }: Rule): string {
  return title ?? (name === '' || name === 'auth' ? 'custom' : name)
}
