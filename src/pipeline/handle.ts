import { parseCredentials } from '../access/credentials'
import { requireSameOrigin } from '../access/cross-origin'
import { isReading, requirePrincipal } from '../access/require-principal'
import type { AccessRequest } from '../access/rule'
import { ApiError } from '../errors'
import { type Answer, answerEmpty, withCaching } from '../response/answer'
import { type Action, create, list, read, remove, update } from './actions'
import type { ResourceRequest, Service } from './service'

const collectionActions: ReadonlyMap<string, Action> = new Map([
  ['GET', list],
  ['HEAD', list],
  ['OPTIONS', list],
  ['POST', create],
])
const itemActions: ReadonlyMap<string, Action> = new Map([
  ['GET', read],
  ['HEAD', read],
  ['OPTIONS', read],
  ['PUT', update],
  ['PATCH', update],
  ['DELETE', remove],
])

/**
 * Answers a request in the order of D2: access rule, origin of a write, method, what is sent, record, owner, preconditions,
 * values, constraints.
 * @throws {ApiError} for every refusal
 */
export async function handle(service: Service, request: ResourceRequest): Promise<Answer> {
  const { resource, method, segment, headers } = request
  const principal = await requirePrincipal(resource.rule, accessRequest(service, request), resource.owner !== undefined)
  if (!isReading(method)) {
    const { origin, 'sec-fetch-site': fetchSite } = headers
    requireSameOrigin({ origin, fetchSite, host: request.host }, service.allowedOrigins)
  }
  const actions = segment === undefined ? collectionActions : itemActions
  const allowed = [...actions.keys()].filter((known) => resource.writable || isReading(known))
  const allow = { Allow: allowed.join(', ') }
  if (method === 'OPTIONS') return answerEmpty(allow)
  const action = allowed.includes(method) ? actions.get(method) : undefined
  if (action !== undefined) return withCaching(await action(service, request, principal), principal.id === null)
  throw new ApiError('method-not-allowed', `${method} is not possible here; ${allow.Allow} are`, { headers: allow })
}

function accessRequest({ authenticate }: Service, request: ResourceRequest): AccessRequest {
  const { method, headers, context, session } = request
  const credentials = parseCredentials(headers.authorization)
  return {
    method,
    reads: isReading(method),
    credentials,
    authenticate: () => authenticate(session, credentials),
    context,
  }
}
