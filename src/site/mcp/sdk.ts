/*
 * The parts of the package `@modelcontextprotocol/sdk` that a server needs. They are declared here, because the declarations in
 * the package depend on the types of the DOM.
 */

interface Server {
  readonly setRequestHandler: (schema: object, handler: (request: ToolRequest) => Promise<object>) => void
  readonly connect: (transport: Transport) => Promise<void>
  readonly close: () => Promise<void>
}

/** Request for the tools, or a call of one. */
interface ToolRequest {
  readonly params?: {
    readonly name?: unknown
    readonly arguments?: Readonly<Record<string, unknown>>
    readonly task?: unknown
  }
}

interface Transport {
  readonly handleRequest: (request: Request, options: { readonly parsedBody: unknown }) => Promise<Response>
}

/** The exports of the package that this service uses. */
export interface McpSdk {
  readonly Server: new (identity: { readonly name: string; readonly version: string }, options: object) => Server
  readonly WebStandardStreamableHTTPServerTransport: new (options: {
    readonly enableJsonResponse: boolean
  }) => Transport
  readonly ListToolsRequestSchema: object
  readonly CallToolRequestSchema: object
  /** An error of the protocol, whose message the client receives. */
  readonly McpError: new (
    code: number,
    message: string,
  ) => Error
}

const modules = ['server/index.js', 'server/webStandardStreamableHttp.js', 'types.js'].map(
  (name) => `@modelcontextprotocol/sdk/${name}`,
)

/** Whether the application has installed the package, which is optional. */
export function isMcpSdkInstalled(): boolean {
  try {
    for (const name of modules) require.resolve(name)
    return true
  } catch {
    return false
  }
}

/** Loads the package. Only mounts with the option `mcp` need it. */
export function loadMcpSdk(): McpSdk {
  return Object.assign({}, ...modules.map((name) => require(name)))
}
