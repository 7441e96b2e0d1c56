import { parseCredentials } from './access/credentials'
import { isReading, requirePrincipal } from './access/require-principal'
import type { AccessRequest, Principal } from './access/rule'
import { type Action, create, list, type ResourceRequest, read, remove, type Service, update } from './actions'
import { ApiError } from './errors'
import { type Answer, answerEmpty } from './response/answer'

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
 * Answers a request in the order of D2: access rule, method, what is sent, record, owner, values, constraints.
 * @throws {ApiError} for every refusal
 */
export async function handle(service: Service, request: ResourceRequest): Promise<Answer> {
  const { resource, method, segment } = request
  const principal = await requirePrincipal(resource.rule, accessRequest(service, request), resource.owner !== undefined)
  const actions = segment === undefined ? collectionActions : itemActions
  const allowed = [...actions.keys()].filter((known) => resource.writable || isReading(known))
  const headers = { Allow: allowed.join(', ') }
  if (method === 'OPTIONS') return answerEmpty(headers)
  const action = allowed.includes(method) ? actions.get(method) : undefined
  if (action !== undefined) return action(service, request, principal)
  throw new ApiError('method-not-allowed', `${method} is not possible here; ${headers.Allow} are`, { headers })
}

function accessRequest(service: Service, { method, authorization, context }: ResourceRequest): AccessRequest {
  const credentials = parseCredentials(authorization)
  const authenticate = (): Promise<Principal | undefined> => service.authenticate(credentials)
  return { method, reads: isReading(method), credentials, authenticate, context }
}
