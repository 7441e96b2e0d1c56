import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** What Node.js publishes about a request of HTTP/1.1. */
interface RequestStart {
  readonly socket: Socket
  readonly server: object
}

/** Open connections of each server that have sent a request. */
const connections = new WeakMap<object, Set<Socket>>()
let isTracking = false

/** Notes the connections of all servers of the process from now on. Node.js has no function that lists them. */
export function trackConnections(): void {
  if (isTracking) return
  isTracking = true
  subscribe('http.server.request.start', (message) => {
    const { socket, server } = message as RequestStart
    const ofServer = connections.get(server) ?? new Set()
    if (ofServer.has(socket)) return
    connections.set(server, ofServer.add(socket))
    socket.once('close', () => ofServer.delete(socket))
  })
}

/** Whether a client of the server has not received its response completely, although the response has ended. */
export function isSending(server: object): boolean {
  return [...(connections.get(server) ?? [])].some((socket) => !socket.destroyed && socket.writableLength > 0)
}
