import { connect, type NetConnectOpts } from 'node:net'
import type { PoolClient } from './connection'

/** Request code of the message CancelRequest (PostgreSQL documentation, Message Formats). */
const cancelRequest = 80_877_102

/**
 * Cancels the statement that a connection is running. PostgreSQL accepts the request on a separate connection without
 * authentication, and closes this connection after it has signalled the cancellation.
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
    // Without a cancellation the statement ends at its time limit.
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
  })
}

/** Time limit for the request. */
const cancelTimeoutMs = 5000
