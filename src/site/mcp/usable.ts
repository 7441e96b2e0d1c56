import type { RequestAuthentication } from '../../access/request-authentication'
import { identifyReader, requirePrincipal } from '../../access/require-principal'
import type { Principal } from '../../access/rule'
import type { DbSession } from '../../connection/db-session'
import { ApiError } from '../../errors'
import { type DescribedResource, describedResource } from '../../openapi/described-resource'
import type { Service } from '../../pipeline/service'
import { Policies } from '../../query/policies'
import type { Resource, ResourceViews } from '../../schema/resource-view'
import { type OperationMount, operationRequest } from '../operation'
import { statusOf } from './status'

/** A request of an agent, with the properties that its tool calls share. */
export interface AgentRequest extends OperationMount {
  readonly service: Service
  readonly authentication: RequestAuthentication<DbSession>
  /** Values of `WWW-Authenticate` in a response with status 401. */
  readonly challenges: readonly string[]
}

/** A resource that the sender of a request may use. */
export interface UsableResource extends DescribedResource {
  readonly reads: boolean
}

/** The resources that the sender of a request may use. */
export interface Usable {
  /** Id of the user; null if the request is anonymous. */
  readonly user: Principal['id']
  readonly resources: ReadonlyMap<string, UsableResource>
}

/** Methods that the access rule of a resource must permit for each write. */
const writeMethods = { create: 'POST', update: 'PATCH', delete: 'DELETE' } as const

/**
 * Finds the resources that the access rules, and `may` for at least some records, permit the sender of a request to use.
 * @throws {ApiError} `unauthorized` if there are none, and the request has no correct credentials
 */
export async function usableResources(request: AgentRequest): Promise<Usable> {
  const { service, authentication } = request
  const profileOf = profilesByPrincipal(service)
  const resources = new Map<string, UsableResource>()
  let user = (await authentication.principal())?.id ?? null
  for (const { fullView } of service.resources.values()) {
    const { name, writable } = fullView
    const reader = await permittedPrincipal(request, fullView, 'GET')
    const writers = new Map<string, Principal>()
    for (const [action, method] of writable ? Object.entries(writeMethods) : []) {
      const writer = await permittedPrincipal(request, fullView, method)
      if (writer !== undefined) writers.set(action, writer)
    }
    const principal = reader ?? [...writers.values()][0]
    if (principal === undefined) continue
    user ??= principal.id
    const view = profileOf(principal).views.get(name)
    if (view === undefined) continue
    const described = describedResource(view, (action) => {
      const writer = writers.get(action)
      return writer !== undefined && profileOf(writer).policies.permits(view, action) !== false
    })
    if (reader !== undefined || described.writes.size > 0) {
      resources.set(name, { ...described, reads: reader !== undefined })
    }
  }
  if (resources.size === 0 && user === null) {
    throw new ApiError('unauthorized', authentication.rejection?.reason ?? 'no resource permits an anonymous request', {
      challenge: authentication.rejection?.challenge,
    })
  }
  return { user, resources }
}

/** The views and policies of principals: access rules may return several for one request, but usually the same object. */
function profilesByPrincipal({ profiles, queryShapes }: Service) {
  const known = new Map<Principal, { readonly views: ResourceViews; readonly policies: Policies }>()
  return (principal: Principal) => {
    const { views, policies } = known.get(principal) ?? {
      views: profiles.profileOf(principal).views,
      policies: new Policies(principal, queryShapes),
    }
    known.set(principal, { views, policies })
    return { views, policies }
  }
}

/** The principal that the access rule of a resource returns for a method; undefined if it refuses. */
async function permittedPrincipal(
  request: AgentRequest,
  resource: Resource,
  method: string,
): Promise<Principal | undefined> {
  const { service, authentication } = request
  const served = service.resources.get(resource.name)
  if (served === undefined) return undefined
  const target = `${request.request.root}/${resource.name}/`
  const { context } = operationRequest(request, served, { method, target, segment: undefined, headers: {}, body: {} })
  const ofOperation = authentication.forOperation(context)
  try {
    const principal = await requirePrincipal(resource, ofOperation, service.forbidden, method)
    return service.hasPolicies ? await identifyReader(resource, ofOperation, principal) : principal
  } catch (error) {
    const status = statusOf(error) ?? 500
    // After too many failed logins, all requests are refused: the client must know that.
    if (status >= 500 || status === 429) throw error
    return undefined
  }
}
