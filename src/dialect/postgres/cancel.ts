import { connect, type NetConnectOpts } from 'node:net'
import type { PoolClient } from './connection'

/** Code of the message CancelRequest (PostgreSQL, Message Formats). */
const cancelRequest = 80_877_102

/**
 * Ends the statement that a connection is running. PostgreSQL takes the request through a connection of its own, without a login, and
 * closes it when the statement has been told.
 */
export function cancelStatement({ host, port, processID, secretKey }: PoolClient): Promise<void> {
  const message = Buffer.alloc(16)
  for (const [index, part] of [message.length, cancelRequest, processID, secretKey].entries()) {
    message.writeInt32BE(part | 0, index * 4)
  }
  const target: NetConnectOpts = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }
  return new Promise((resolve) => {
    const socket = connect(target, () => socket.end(message))
    socket.setTimeout(cancelTimeoutMs, () => socket.destroy())
    // The statement has a time limit of its own.
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
  })
}

/** How long the request may take. */
const cancelTimeoutMs = 5000
