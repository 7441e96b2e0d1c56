import { requireSameOrigin } from '../../access/cross-origin'
import { RequestAuthentication } from '../../access/request-authentication'
import { ApiError, methodNotAllowed, notConnected } from '../../errors'
import { type Body, membersOf } from '../../request/body'
import { requireFewValues } from '../../request/body-values'
import type { HttpResponse } from '../../response/http-response'
import type { MountSettings } from '../mount-options'
import type { PageHandler, PageRequest, Pages } from '../page'
import { readPageBody } from '../payload'
import type { Routers } from '../routers'
import { callTool } from './call'
import { loadMcpSdk, type McpSdk } from './sdk'
import { renderTool, toolNames, tools } from './tools'
import { type AgentRequest, type Usable, usableResources } from './usable'

const path = '/-/mcp'

const instructions =
  'Records of an application. Call "describe" first: it shows the resources, and the id of the user as whom all tools act. A refused call says what is allowed.'

/** The pages of the Model Context Protocol, by method (specification: Agents). */
export function mcpPages(settings: MountSettings, routers: Routers): Record<'GET' | 'POST' | 'DELETE', Pages> {
  const noStream = new Map([[path, refuseMethod]])
  return { GET: noStream, POST: new Map([[path, mcpPage(settings, routers)]]), DELETE: noStream }
}

/** There are no sessions, so that clients can neither open a stream of messages (GET) nor end a session (DELETE). */
const refuseMethod: PageHandler = async ({ context }) => {
  throw methodNotAllowed(context.method, 'POST')
}

/**
 * Responds to one message of a client of the Model Context Protocol. There is no state between requests, so that any process
 * of a site can handle each of them.
 */
function mcpPage({ base, authenticators, info }: MountSettings, routers: Routers): PageHandler {
  const sdk = loadMcpSdk()
  const challenges = authenticators.map(({ challenge }) => challenge)
  const identity = { name: info.title ?? 'REST service', version: info.version ?? '1.0.0' }
  return async (request) => {
    const { session, service, context } = request
    if (service === undefined) throw notConnected()
    requireSameOrigin(context.headers, context.host, service.allowedOrigins)
    const authentication = new RequestAuthentication(service.verifyCredentials, session, context)
    const agent: AgentRequest = { service, base, request, routers, authentication, challenges }
    const message = await receiveMessage(agent)
    if (message === undefined) return parseErrorResponse
    return respondToMessage(sdk, identity, agent, message)
  }
}

/**
 * Receives the body of a request.
 * @returns undefined if it is not one JSON object: the protocol has no arrays of messages
 * @throws {ApiError} `unsupported-media-type`, `body-too-large`, `unavailable`
 */
async function receiveMessage({ service, request }: AgentRequest): Promise<object | undefined> {
  if (!/^application\/json *(;|$)/i.test(request.context.get('Content-Type'))) {
    throw new ApiError('unsupported-media-type', 'send application/json')
  }
  try {
    const message = await readPageBody(request, service)
    requireSmallMessage(message)
    return Object.fromEntries(message)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'bad-body') return undefined
    throw error
  }
}

/** Maximum number of values of a message besides the arguments of a tool. Clients send a few dozen. */
const maxMessageValues = 200

/**
 * Limits the values of a message. The SDK checks each of them, which takes up to 40 µs, and does not stop at the first one that
 * is wrong. It does not check what the members of `arguments` contain; `filters` become the parameters of a request.
 * @throws {ApiError} `bad-body`
 */
function requireSmallMessage(message: Body): void {
  const params = membersIn(message.get('params'))
  const others = [...message].filter(([name]) => name !== 'params')
  const otherParams = [...params].filter(([name]) => name !== 'arguments')
  requireFewValues(
    [...others, ...otherParams].map(([, value]) => value),
    maxMessageValues,
  )
  membersIn(membersIn(params.get('arguments')).get('filters'))
}

/** The members of an object. A text has none: with `for … in`, each of its characters would be one. */
function membersIn(json: unknown): Body {
  return typeof json === 'object' && json !== null ? membersOf(json) : new Map()
}

const jsonRpcResponse = (status: number, body: string): HttpResponse => ({
  status,
  headers: { 'Content-Type': 'application/json; charset=utf-8' },
  cacheControl: 'no-store',
  body,
})

const parseErrorResponse = jsonRpcResponse(
  400,
  JSON.stringify({
    jsonrpc: '2.0',
    error: { code: -32700, message: 'Parse error: send one JSON-RPC message, a JSON object' },
    id: null,
  }),
)

/** Required by the SDK, but not called: it validates responses to requests of the server, which sends none. */
const jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('this server sends no requests to its client')
  },
}

/** Code of JSON-RPC for parameters that are not accepted. */
const invalidParams = -32602

async function respondToMessage(
  { Server, WebStandardStreamableHTTPServerTransport: Transport, McpError, ...schemas }: McpSdk,
  identity: { readonly name: string; readonly version: string },
  agent: AgentRequest,
  message: object,
): Promise<HttpResponse> {
  let usable: Promise<Usable> | undefined
  const findUsable = (): Promise<Usable> => {
    usable ??= usableResources(agent)
    return usable
  }
  // Clients log in only if their first request, which initializes the connection, is refused.
  if ('method' in message && message.method === 'initialize') await findUsable()
  const thrown: unknown[] = []
  // The SDK would send the message of any error to the client. Errors that are not those of the protocol are thrown again
  // below, and get the same response as in the rest of the service.
  const keep = (error: unknown): never => {
    thrown.push(error)
    throw error
  }
  const server = new Server(identity, { capabilities: { tools: {} }, instructions, jsonSchemaValidator })
  server.setRequestHandler(schemas.ListToolsRequestSchema, () => listTools(agent, findUsable).catch(keep))
  server.setRequestHandler(schemas.CallToolRequestSchema, async ({ params = {} }) => {
    const tool = tools.find(({ name }) => name === params.name)
    if (tool === undefined) throw new McpError(invalidParams, `unknown tool "${params.name}"; tools: ${toolNames}`)
    if (params.task !== undefined) throw new McpError(invalidParams, 'a call cannot be a task: send it without "task"')
    const { isError = false, text } = await callTool(agent, tool, params.arguments ?? {}, findUsable).catch(keep)
    return { isError, content: [{ type: 'text', text }] }
  })
  const transport = new Transport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const response = await transport.handleRequest(sdkRequest(agent.request), { parsedBody: message })
    if (thrown.length > 0) throw thrown[0]
    return jsonRpcResponse(response.status, await response.text())
  } finally {
    await server.close()
  }
}

async function listTools({ service }: AgentRequest, findUsable: () => Promise<Usable>): Promise<object> {
  const all = [...(await findUsable()).resources.values()]
  const usable = tools.filter(({ method, isUsable }) => method === undefined || all.some(isUsable))
  return { tools: usable.map((tool) => renderTool(tool, service.idempotency !== undefined)) }
}

/** The HTTP request with the headers that the SDK checks. It does not use the URL. */
function sdkRequest({ context }: PageRequest): Request {
  const names = ['Accept', 'Content-Type', 'MCP-Protocol-Version'].filter((name) => context.get(name) !== '')
  const headers = Object.fromEntries(names.map((name) => [name, context.get(name)]))
  return new Request('http://localhost/', { method: 'POST', headers })
}
