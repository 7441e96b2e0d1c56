import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { networkOf } from '../access/client-network'
import { buildResponseMemory, type ResponseMemory } from '../response/held-bytes'

/**
 * Handles a request with the memory that it and its response hold. It is held until the request has been handled, and the
 * response is sent or its connection is closed: a write continues after its client has disconnected, with the body.
 * @param limit maximum number of bytes for all responses of the process
 * @param handle receives a function whose first call creates the memory
 */
export async function withResponseMemory<T>(
  context: Context,
  limit: number,
  handle: (responseMemory: () => ResponseMemory) => Promise<T>,
): Promise<T> {
  let held: ResponseMemory | undefined
  let isHandled = false
  /** Frees the memory of a request whose connection is closed, and which is still being handled. */
  let releaseWhenHandled: (() => void) | undefined
  const onClosed = (release: () => void): void => {
    if (isHandled) release()
    else releaseWhenHandled = release
  }
  try {
    return await handle(() => {
      held ??= newResponseMemory(context, limit, onClosed)
      return held
    })
  } finally {
    isHandled = true
    releaseWhenHandled?.()
    // Also a short response waits for its client: an HTTP/2 client that accepts no byte would keep the memory of its body. A
    // stream is read when its client is ready, and has time limits of its own.
    if (!(context.body instanceof Readable)) held?.noteSent()
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
