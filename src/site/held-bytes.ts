import type { Context } from 'koa'
import { buildHeldBytes, type HeldBytes } from '../response/held-bytes'

/** The memory that the response of a request holds, until it is sent or its connection is closed. */
export function heldBytesOf(context: Context, limit: number): () => HeldBytes {
  let held: HeldBytes | undefined
  return () => {
    held ??= hold(context, limit)
    return held
  }
}

function hold({ req, res }: Context, limit: number): HeldBytes {
  const { socket } = req
  return buildHeldBytes(limit, {
    // HTTP/2 has many responses on one socket.
    cutOff: () => (req.httpVersionMajor < 2 ? socket : res).destroy(),
    whenClosed: (release) => {
      if (res.closed || socket.destroyed) return release()
      const done = (): void => {
        res.off('close', done)
        socket.off('close', done)
        release()
      }
      res.once('close', done)
      // A response that waits for others before it is not told.
      socket.once('close', done)
    },
  })
}
