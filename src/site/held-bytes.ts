import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { networkOf } from '../access/client-network'
import { buildResponseMemory, minCountedLength, type ResponseMemory } from '../response/held-bytes'

/** Memory that a request and its response hold. */
export interface RequestMemory {
  /** Returns the memory; the first call creates it. */
  readonly responseMemory: () => ResponseMemory
  /** Call this when the request has been handled, successfully or not. */
  readonly noteHandled: () => void
}

/**
 * Starts to count the memory of a request. It is held until the request has been handled, and the response is sent or its connection is
 * closed: a write continues after its client has disconnected, with the body.
 * @param limit maximum number of bytes for all responses of the process
 */
export function requestMemory(context: Context, limit: number): RequestMemory {
  let held: ResponseMemory | undefined
  let isHandled = false
  /** Frees the memory of a request whose connection is closed, and which is still being handled. */
  let releaseWhenHandled: (() => void) | undefined
  const onClosed = (release: () => void): void => {
    if (isHandled) release()
    else releaseWhenHandled = release
  }
  return {
    responseMemory: () => {
      held ??= newResponseMemory(context, limit, onClosed)
      return held
    },
    noteHandled: () => {
      isHandled = true
      releaseWhenHandled?.()
      // Also a short response waits for its client: an HTTP/2 client that accepts no byte would keep the memory of its body. A
      // stream is read when its client is ready, and has time limits of its own.
      if (held !== undefined && !(context.body instanceof Readable)) held.noteWaiting(true)
    },
  }
}

/** @param onClosed receives the function that frees the memory, when the response was sent or can no longer be sent */
function newResponseMemory(
  { ip, req, res }: Context,
  limit: number,
  onClosed: (release: () => void) => void,
): ResponseMemory {
  const { socket } = req
  return buildResponseMemory(limit, {
    client: networkOf(ip),
    // With HTTP/2 one socket carries many responses, so only the stream is closed.
    cutOff: () => (req.httpVersionMajor < 2 ? socket : res).destroy(),
    whenClosed: (release) => {
      if (res.closed || socket.destroyed) return onClosed(release)
      const responses = openResponsesOf(socket)
      const done = (): void => {
        if (responses.delete(done)) onClosed(release)
      }
      responses.add(done)
      res.once('close', done)
    },
  })
}

/** Responses of each connection that hold memory, each as the function that frees it. */
const openResponses = new WeakMap<Socket, Set<() => void>>()

/**
 * Node.js does not emit `close` on responses that wait for an earlier response when the connection is closed. Many responses of a
 * connection share one listener, because Node.js warns of more than ten.
 */
function openResponsesOf(socket: Socket): Set<() => void> {
  const known = openResponses.get(socket)
  if (known !== undefined) return known
  const responses = new Set<() => void>()
  openResponses.set(socket, responses)
  socket.once('close', () => {
    for (const done of responses) done()
  })
  return responses
}

/** Memory of the name or the value of a header, besides its characters, in bytes: with two maps of the headers, 43 bytes were measured. */
const stringBytes = 48
/**
 * Memory of each character of a URL in bytes, with the filters that are parsed from it: up to 28 bytes were measured for an `in`
 * list of short numbers.
 */
const urlCharacterBytes = 32

/**
 * Reserves the memory of the URL and the headers of a request, which wait together with it.
 * @param isPipelined whether the client has not received the response to an earlier request of the connection. Such requests,
 * and those of HTTP/2, are counted even if they are small, because a connection can have many of them
 * @throws {ApiError} `unavailable`
 */
export function reserveHead(
  { url = '', rawHeaders, httpVersionMajor }: IncomingMessage,
  isPipelined: boolean,
  responseMemory: () => ResponseMemory,
): void {
  let bytes = url.length * urlCharacterBytes
  for (const { length } of rawHeaders) bytes += stringBytes + length
  if (isPipelined || httpVersionMajor >= 2) bytes = Math.max(bytes, minCountedLength)
  if (bytes >= minCountedLength) responseMemory().reserveHead(bytes)
}
