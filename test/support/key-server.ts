import { createServer } from 'node:http'
import { listen } from './listen'

/** A server with the key set of an issuer, which counts its requests. */
export interface KeyServer {
  readonly url: string
  /** Number of requests since the start. */
  readonly requests: () => number
  /** Sets the response: the body, with status 200 unless another one is given; undefined closes the connections. */
  readonly respondWith: (body: unknown, status?: number) => void
  readonly close: () => Promise<void>
}

export async function openKeyServer(keys: readonly object[]): Promise<KeyServer> {
  let requests = 0
  let response: readonly [body: unknown, status: number] | undefined = [{ keys }, 200]
  const server = createServer((_, outgoing) => {
    requests++
    if (response === undefined) return outgoing.destroy()
    const [body, status] = response
    outgoing.writeHead(status, { 'Content-Type': 'application/json', Location: '/keys' })
    return outgoing.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  return {
    url: `${await listen(server)}/keys`,
    requests: () => requests,
    respondWith: (body, status = 200) => {
      response = body === undefined ? undefined : [body, status]
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
