import { isReadMethod } from '../../access/request-authentication'
import { ApiError } from '../../errors'
import { admit, perform } from '../../pipeline/handle'
import { segmentOfKey } from '../../pipeline/key-segment'
import type { ResourceRequest, ServedResource, Service } from '../../pipeline/service'
import type { HttpResponse } from '../../response/http-response'
import { isReplaced, operationRequest } from '../operation'
import { countBody, errorResponse, type FailedRequest, publishRequest } from '../respond'
import { tracedSession } from '../traced-session'
import { describeAll } from './describe'
import { descriptionOf } from './descriptions'
import { isExposed, statusOf } from './status'
import {
  checkToolArguments,
  maxUrlAndHeaders,
  querystringOf,
  type Tool,
  type ToolArguments,
  urlAndHeadersLength,
} from './tools'
import type { AgentRequest, Usable } from './usable'

/** Result of a tool call. */
export interface ToolResult {
  readonly isError?: boolean
  readonly text: string
}

const refused = (text: string): ToolResult => ({ isError: true, text })

/** Number of records of a list without `limit`. Models read every record that they receive, so it is small. */
const defaultLimit = 20

/**
 * Maximum size of the records in the result of a tool that reads, in bytes, as stored in the database. The SDK serializes each result
 * again in one step: 16 MiB with control characters blocked the event loop for 2.5 s.
 */
const maxReadBytes = 1024 * 1024

/**
 * Calls a tool, by the request that a client of the service would send.
 * @param findUsable finds what the sender of the request may use
 * @throws {ApiError} `unauthorized` if the access rule refuses a request without correct credentials
 */
export async function callTool(
  request: AgentRequest,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  findUsable: () => Promise<Usable>,
): Promise<ToolResult> {
  const errors = checkToolArguments(tool, given)
  if (!errors.isEmpty) return refused(errors.text)
  const call: ToolArguments = given
  if (urlAndHeadersLength(call) > maxUrlAndHeaders) {
    return refused(`the arguments besides "values" may have at most ${maxUrlAndHeaders} characters together`)
  }
  if (tool.method === undefined) return describeFor(request, call, await findUsable())
  const served = request.service.resources.get(call.resource ?? '')
  if (served === undefined) return unknownResource(call, await findUsable())
  return send(request, served, tool.method, withDefaultLimit(tool, call, request))
}

function withDefaultLimit({ arguments: known }: Tool, call: ToolArguments, { service }: AgentRequest): ToolArguments {
  return 'limit' in known ? { limit: Math.min(defaultLimit, service.limits.page.max), ...call } : call
}

function describeFor({ service, request }: AgentRequest, call: ToolArguments, usable: Usable): ToolResult {
  if (call.resource === undefined) return { text: JSON.stringify(describeAll(usable)) }
  const resource = usable.resources.get(call.resource)
  if (resource === undefined) return unknownResource(call, usable)
  const text = descriptionOf(resource, usable, service, request.session.dataSource)
  countBody(request.responseMemory, true, text)
  return { text }
}

function unknownResource({ resource }: ToolArguments, { resources }: Usable): ToolResult {
  return refused(`there is no resource "${resource}"; resources: ${[...resources.keys()].join(', ') || 'none'}`)
}

async function send(
  agent: AgentRequest,
  served: ServedResource,
  method: NonNullable<Tool['method']>,
  call: ToolArguments,
): Promise<ToolResult> {
  const { service, authentication } = agent
  const { name } = served.fullView
  const segment = call.id === undefined ? undefined : segmentOfKey(call.id)
  const query = querystringOf(call)
  const path = `${agent.request.root}/${name}/${segment === undefined ? '' : `${segment}/`}`
  const headers = {
    ...(call.if_match !== undefined && { 'if-match': call.if_match }),
    ...(call.idempotency_key !== undefined && { 'idempotency-key': call.idempotency_key }),
  }
  // Only reads are cancelled when the client disconnects; a write is completed.
  const client = method === 'GET' ? agent.request.context.res : undefined
  const { address } = agent.request.session
  const session = tracedSession(agent.request.session, name, { address, client })
  const target = query === '' ? path : `${path}?${query}`
  const operation = { method, target, segment, headers, body: call.values }
  const request = operationRequest({ ...agent, request: { ...agent.request, session } }, served, operation)
  const start = performance.now()
  const publishStatus = (status: number): void => {
    if (session.trace !== undefined) publishRequest(request, session.trace, status, performance.now() - start)
  }
  try {
    const admitted = await admit(service, request, authentication.forOperation(request.context))
    if (isReplaced(agent, operation)) {
      throw new ApiError(
        'forbidden',
        `no tool can send ${method} ${path}: a route of the application replaces this action; the user must send the request`,
      )
    }
    const response = await perform(withSmallReads(service), admitted)
    // The HTTP request is a POST, whose response is not refused: here it is known whether the call only reads.
    countBody(request.responseMemory, isReadMethod(method), response.body)
    publishStatus(response.status)
    return resultOf(response)
  } catch (error) {
    const status = statusOf(error)
    // The client must log in: it does so after a response with the HTTP status 401.
    if (status === 401 && (await authentication.principal()) === undefined) throw error
    publishStatus(status ?? 500)
    return refusalOf(agent, request, error)
  }
}

/** The service with the limits for results of tools. They do not apply to the record of a write, which is stored. */
function withSmallReads(service: Service): Service {
  const { pageBytes, itemBytes } = service.limits
  const limits = {
    ...service.limits,
    pageBytes: Math.min(pageBytes, maxReadBytes),
    itemBytes: Math.min(itemBytes, maxReadBytes),
  }
  return { ...service, limits }
}

/** The JSON is not parsed: numbers keep all of their digits. */
function resultOf({ status, headers, body }: HttpResponse): ToolResult {
  if (status === 204) return { text: 'The record is deleted.' }
  const etag = headers['ETag']
  // The ETag of a page is weak.
  return typeof etag === 'string' && !etag.startsWith('W/')
    ? { text: `{"etag":${JSON.stringify(etag)},"record":${body}}` }
    : { text: body }
}

/** Members of a problem document that a model can use. */
interface Problem {
  readonly detail?: string
  readonly errors?: readonly { readonly field: string; readonly message: string }[]
}

function refusalOf(
  { challenges }: AgentRequest,
  { session, resource, context }: ResourceRequest,
  error: unknown,
): ToolResult {
  if (isExposed(error)) return refused(error.message)
  const failed = { context, session, resource: resource.name, challenges } as FailedRequest
  const response = errorResponse(failed, error)
  if (error instanceof ApiError && error.code === 'unauthorized') {
    return refused('the access rule of the resource does not permit this call')
  }
  const { detail = response.body, errors = [] }: Problem = JSON.parse(response.body)
  // The detail of a refusal by this service contains all errors. The detail of a problem of the application may not.
  const others = errors.filter(({ message }) => !detail.includes(message))
  return refused([detail, ...others.map(({ field, message }) => `${field} ${message}`)].join('. '))
}
