import { adminRule, jsonOfId, type Rule, userRule } from '../access/rule'
import { type Service, viewsOf } from '../pipeline/service'
import { jsonResponse, withCaching } from '../response/http-response'
import { requirePageReader } from './description'
import type { PageHandler } from './page'

/**
 * Serves the id of the logged-in user and whether they are an administrator, for every authenticator of the mount. Clients
 * check credentials with it, and the explorer finds out which records the user may change.
 */
export const sessionPage: PageHandler = async (request) => {
  const { service } = request
  const rule = service === undefined ? userRule() : loginRule(service)
  const { principal } = await requirePageReader(rule, request)
  const { id, admin = false } = principal
  return withCaching(jsonResponse(200, JSON.stringify({ id: jsonOfId(id), admin })), false)
}

/**
 * Rule for logging in: the user rule if a resource may permit users who are not administrators. If no access rule of a
 * resource could permit the user, the response is 401 even if the password is right (specification: Admin rule).
 */
export function loginRule(service: Service): Rule {
  const rules = viewsOf(service).map(({ rule }) => rule)
  // A rule of the application (`needs` is undefined) may permit any user.
  const isForUsers = rules.some(({ needs, writes }) => needs === 'users' || (needs === undefined && writes !== false))
  return isForUsers ? userRule() : adminRule()
}
