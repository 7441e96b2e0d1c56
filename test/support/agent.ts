import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** Result of a tool call. */
export interface ToolReply {
  readonly isError: boolean
  readonly text: string
}

/** Connects the client of the protocol's SDK to a service. */
export async function connectAgent(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL('/api/-/mcp', url), {
    requestInit: { headers: { ...headers } },
  })
  // The declarations of the SDK do not agree with exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client['connect']>[0])
  return client
}

export async function callTool(
  client: Client,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<ToolReply> {
  const { isError, content } = await client.callTool({ name, arguments: { ...args } })
  const [{ text = '' } = {}] = content as { text?: string }[]
  return { isError: isError === true, text }
}
