import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Context } from 'koa'
import { unavailable } from '../errors'
import type { ResponseMemory } from '../response/held-bytes'
import { problemResponse } from '../response/http-response'
import { sendResponse } from './respond'

/** Waiting requests by connection, each as the function that lets it continue. Most connections never have any. */
const waitingRequests = new WeakMap<Socket, Set<() => void>>()

/**
 * Whether a request is pipelined, and the client has not received the response to the previous request. Node.js assigns the
 * connection to one response at a time, in the order of the requests. An HTTP/2 connection sends many responses at the same
 * time.
 */
export function isPipelined({ req, res }: Context): boolean {
  return res.socket === null && !res.writableEnded && req.httpVersionMajor < 2
}

/** Connections that are closed after a response with the status 503. */
const closing = new WeakSet<Socket>()

/** Whether the connection of a request is closed before the client can receive its response. */
export function isClosing({ req: { socket } }: Context): boolean {
  return socket.destroyed || closing.has(socket)
}

/**
 * Makes a pipelined request wait until the client has received the response to the previous request. Node.js passes on
 * all requests that a client sends without waiting, and keeps their responses in memory until they are received.
 * @param limit maximum number of waiting requests of a connection. The connection is closed after the response to a further one
 * @returns whether to respond: false if the request was refused or the connection is closed
 */
export async function waitForPrevious(context: Context, limit: number, memory: ResponseMemory): Promise<boolean> {
  const { req, res } = context
  const { socket } = req
  const waiting = waitingRequests.get(socket) ?? newQueue(socket)
  if (waiting.size >= limit) {
    const detail = `${limit} requests of this connection are already waiting for earlier responses`
    closing.add(socket)
    context.set('Connection', 'close')
    sendResponse(context, problemResponse(unavailable(detail)))
    return false
  }
  memory.noteWaiting(true)
  await wait(socket, res, waiting)
  memory.noteWaiting(false)
  return !socket.destroyed
}

function newQueue(socket: Socket): Set<() => void> {
  const waiting = new Set<() => void>()
  waitingRequests.set(socket, waiting)
  // A response without a connection does not emit `close`.
  socket.once('close', () => {
    for (const proceed of waiting) proceed()
  })
  return waiting
}

async function wait(socket: Socket, res: ServerResponse, waiting: Set<() => void>): Promise<void> {
  if (socket.destroyed) return
  await new Promise<void>((resolve) => {
    const proceed = (): void => {
      waiting.delete(proceed)
      resolve()
    }
    waiting.add(proceed)
    res.once('socket', proceed)
  })
}
