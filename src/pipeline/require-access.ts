import { requireSameOrigin } from '../access/cross-origin'
import { isReadMethod, type RequestAuthentication } from '../access/request-authentication'
import { identifyReader, requirePrincipal } from '../access/require-principal'
import type { Principal } from '../access/rule'
import type { ResourceRequest, Service } from './service'

/**
 * Checks the access rule and the origin of a write.
 * @returns the principal
 * @throws {ApiError} `unauthorized`, `forbidden`, `cross-origin`
 */
export async function requireAccess(
  service: Service,
  { resource, method, restores, headers, context }: ResourceRequest,
  authentication: RequestAuthentication<ResourceRequest['session']>,
): Promise<Principal> {
  // Restoring a record changes it: for access rules it is PATCH.
  const ruleMethod = restores && method === 'POST' ? 'PATCH' : method
  const permitted = await requirePrincipal(resource, authentication, service.forbidden, ruleMethod)
  const principal = service.hasPolicies ? await identifyReader(resource, authentication, permitted) : permitted
  if (!isReadMethod(method)) requireSameOrigin(headers, context.host, service.allowedOrigins)
  return principal
}
