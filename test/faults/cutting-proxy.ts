import { connect, createServer, type Socket } from 'node:net'
import { listen } from '../support/listen'
import { atEnd } from './cleanup'

/** Where a connection is cut: before the service gets the request, while it executes it, before the response, or within it. */
const cuts = ['before', 'during', 'after', 'within'] as const
type Cut = (typeof cuts)[number]

/** A TCP proxy that cuts connections. It expects one request on each. */
export interface CuttingProxy {
  readonly url: string
  /** Number of connections that were cut, by the moment. */
  readonly counts: Record<Cut, number>
}

/**
 * Starts a TCP proxy that passes connections on to one of several servers, and cuts two of five.
 * @param targetOf returns the URL of the server for the next connection; undefined if there is none
 */
export async function startCuttingProxy(targetOf: () => string | undefined): Promise<CuttingProxy> {
  const counts = { before: 0, during: 0, after: 0, within: 0 }
  const server = createServer((client) => {
    const cut = cuts[Math.floor(Math.random() * cuts.length * 2.5)]
    const target = targetOf()
    if (target === undefined) {
      client.on('error', () => {}).resetAndDestroy()
      return
    }
    const { hostname, port } = new URL(target)
    pass(client, connect(Number(port), hostname), cut, () => counts[cut ?? 'before']++)
  })
  atEnd(() => server.close())
  return { url: await listen(server as never), counts }
}

function pass(client: Socket, service: Socket, cut: Cut | undefined, count: () => void): void {
  const end = (): void => {
    client.destroy()
    service.destroy()
  }
  const cutOff = (): void => {
    if (!client.destroyed) count()
    end()
  }
  client.on('error', end).on('close', end)
  service.on('error', end).on('close', end)
  client.on('data', (chunk) => {
    if (cut === 'before') return cutOff()
    service.write(chunk)
    if (cut === 'during') setTimeout(cutOff, Math.random() * 15)
  })
  service.on('data', (chunk) => {
    if (cut === 'after') return cutOff()
    if (cut === 'within') return void client.write(chunk.subarray(0, chunk.length / 2), cutOff)
    client.write(chunk)
  })
}
