import type { Context } from 'koa'
import { buildResponseMemory, type ResponseMemory } from '../response/held-bytes'

/**
 * Memory that the response to a request holds, until it is sent or its connection is closed. It is created by the first
 * call of the returned function.
 * @param limit maximum number of bytes for all responses of the process
 */
export function responseMemoryOf(context: Context, limit: number): () => ResponseMemory {
  let held: ResponseMemory | undefined
  return () => {
    held ??= newResponseMemory(context, limit)
    return held
  }
}

function newResponseMemory({ req, res }: Context, limit: number): ResponseMemory {
  const { socket } = req
  return buildResponseMemory(limit, {
    // With HTTP/2 one socket carries many responses, so only the stream is closed.
    cutOff: () => (req.httpVersionMajor < 2 ? socket : res).destroy(),
    whenClosed: (release) => {
      if (res.closed || socket.destroyed) return release()
      const done = (): void => {
        res.off('close', done)
        socket.off('close', done)
        release()
      }
      res.once('close', done)
      // Node.js does not emit `close` on responses that wait for an earlier response when the connection is closed.
      socket.once('close', done)
    },
  })
}
