import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { DataSource } from 'typeorm'

const channel = 'http.server.request.start'

/** What Node.js publishes about a request of HTTP/1.1. */
interface RequestStart {
  readonly socket: Socket
  readonly server: object
}

/** Open connections of each server that have sent a request. */
const connections = new WeakMap<object, Set<Socket>>()
/** Data sources with a mount that are initialized. */
const initialized = new Set<DataSource>()
/** Data sources whose `destroy` ends the tracking. */
const observed = new WeakSet<DataSource>()

/**
 * Notes the connections of all servers of the process while the data source is initialized. Node.js has no function that lists
 * them.
 */
export function trackConnections(dataSource: DataSource): void {
  if (initialized.size === 0) subscribe(channel, noteConnection)
  initialized.add(dataSource)
  if (observed.has(dataSource)) return
  observed.add(dataSource)
  const destroy = dataSource.destroy.bind(dataSource)
  dataSource.destroy = async () => {
    await destroy()
    initialized.delete(dataSource)
    if (initialized.size === 0) unsubscribe(channel, noteConnection)
  }
}

function noteConnection(message: unknown): void {
  const { socket, server } = message as RequestStart
  const ofServer = connections.get(server) ?? new Set()
  if (ofServer.has(socket)) return
  connections.set(server, ofServer.add(socket))
  socket.once('close', () => ofServer.delete(socket))
}

/** Whether a client of the server has not received its response completely, although the response has ended. */
export function isSending(server: object): boolean {
  return [...(connections.get(server) ?? [])].some((socket) => !socket.destroyed && socket.writableLength > 0)
}
