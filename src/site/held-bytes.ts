import type { Context } from 'koa'
import { buildResponseMemory, type ResponseMemory } from '../response/held-bytes'

/** Memory of a request. */
export interface RequestMemory {
  /** Memory that the response holds. It is created by the first call. */
  readonly responseMemory: () => ResponseMemory
  /** Records that the request has been handled: only the connection of the client can hold its memory from now on. */
  readonly noteHandled: () => void
}

/**
 * Memory that a request and its response hold, until the request has been handled, and the response is sent or its connection
 * is closed. A write continues after its client has disconnected, with the body.
 * @param limit maximum number of bytes for all responses of the process
 */
export function memoryOf(context: Context, limit: number): RequestMemory {
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
    },
  }
}

/** @param onClosed receives the function that frees the memory, when the response was sent or can no longer be sent */
function newResponseMemory(
  { req, res }: Context,
  limit: number,
  onClosed: (release: () => void) => void,
): ResponseMemory {
  const { socket } = req
  return buildResponseMemory(limit, {
    // With HTTP/2 one socket carries many responses, so only the stream is closed.
    cutOff: () => (req.httpVersionMajor < 2 ? socket : res).destroy(),
    whenClosed: (release) => {
      if (res.closed || socket.destroyed) return onClosed(release)
      const done = (): void => {
        res.off('close', done)
        socket.off('close', done)
        onClosed(release)
      }
      res.once('close', done)
      // Node.js does not emit `close` on responses that wait for an earlier response when the connection is closed.
      socket.once('close', done)
    },
  })
}
