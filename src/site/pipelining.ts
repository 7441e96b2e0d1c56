import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Context } from 'koa'
import { unavailable } from '../errors'
import { problemResponse } from '../response/http-response'
import { sendResponse } from './respond'

/** The requests of a connection. */
interface ConnectionRequests {
  /** The response to the last one that was let in. */
  last: ServerResponse
  /** Lets the waiting requests go on, each when the one before it is done. */
  readonly waiting: Set<() => void>
}

const connectionRequests = new WeakMap<Socket, ConnectionRequests>()

/**
 * Has a request wait until the client has taken the response to the one before on its connection. Node.js hands out all requests
 * that a client sends without waiting, and keeps their responses in memory until they are taken.
 * @param limit requests of a connection that may wait
 * @returns undefined where there is nothing to wait for; else whether the request is to be answered: not where it was refused, or the
 * connection is closed
 */
export function waitForPrevious(context: Context, limit: number): Promise<boolean> | undefined {
  const { req, res } = context
  // HTTP/2 has many requests on one connection, and a limit of its own.
  if (req.httpVersionMajor >= 2) return undefined
  const known = connectionRequests.get(req.socket)
  if (known === undefined) {
    const waiting = new Set<() => void>()
    // A response that waits for others is not told that the connection is closed.
    req.socket.once('close', () => closeAll(waiting))
    connectionRequests.set(req.socket, { last: res, waiting })
    return undefined
  }
  const { last, waiting } = known
  if (waiting.size >= limit) {
    const detail = `${limit} requests of this connection wait for the responses to those before them already`
    sendResponse(context, problemResponse(unavailable(detail)))
    return Promise.resolve(false)
  }
  known.last = res
  return last.writableFinished || last.closed ? undefined : wait(req.socket, last, waiting)
}

function wait(socket: Socket, last: ServerResponse, waiting: ConnectionRequests['waiting']): Promise<boolean> {
  return new Promise((resolve) => {
    const proceed = (): void => {
      waiting.delete(proceed)
      resolve(!socket.destroyed)
    }
    waiting.add(proceed)
    last.once('close', proceed)
  })
}

function closeAll(waiting: ConnectionRequests['waiting']): void {
  for (const proceed of waiting) proceed()
}
