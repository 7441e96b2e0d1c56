import { parseCredentials } from '../access/credentials'
import { requireSameOrigin } from '../access/cross-origin'
import { isReading, requirePrincipal } from '../access/require-principal'
import type { AccessRequest } from '../access/rule'
import { ApiError } from '../errors'
import { emptyResponse, type HttpResponse, withCaching } from '../response/http-response'
import { type Action, create, list, read, remove, update } from './actions'
import type { ResourceRequest, Service } from './service'

/** What can be done at a path. */
interface Methods {
  readonly actions: ReadonlyMap<string, Action>
  /** The header that lists them. */
  readonly allow: { readonly Allow: string }
}

/** @param table of all methods, for what can be written */
function methodsOf(table: Readonly<Record<string, Action>>): { readonly all: Methods; readonly reading: Methods } {
  const some = (entries: readonly [string, Action][]): Methods => ({
    actions: new Map(entries),
    allow: { Allow: entries.map(([method]) => method).join(', ') },
  })
  const entries = Object.entries(table)
  return { all: some(entries), reading: some(entries.filter(([method]) => isReading(method))) }
}

const ofCollection = methodsOf({ GET: list, HEAD: list, OPTIONS: list, POST: create })
const ofItem = methodsOf({ GET: read, HEAD: read, OPTIONS: read, PUT: update, PATCH: update, DELETE: remove })

/**
 * Answers a request in the order of the specification (Order of checks): access rule, origin of a write, method, what is sent, record, owner, preconditions,
 * values, constraints.
 * @throws {ApiError} for every refusal
 */
export async function handle(service: Service, request: ResourceRequest): Promise<HttpResponse> {
  const { resource, method, segment, headers, context } = request
  const principal = await requirePrincipal(resource.rule, accessRequest(service, request), resource.owner !== undefined)
  if (!isReading(method)) {
    const { origin, 'sec-fetch-site': fetchSite } = headers
    requireSameOrigin({ origin, fetchSite, host: context.host }, service.allowedOrigins)
  }
  const { actions, allow } = (segment === undefined ? ofCollection : ofItem)[resource.writable ? 'all' : 'reading']
  if (method === 'OPTIONS') return emptyResponse(allow)
  const action = actions.get(method)
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
    authenticate: () => authenticate(session, credentials, context.ip),
    context,
  }
}
