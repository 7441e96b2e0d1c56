import type { Context } from 'koa'
import type { StreamedBody } from '../response/http-response'

/**
 * Closes the connection of a client if its streamed body fails, and reports the error. The body must not end normally:
 * otherwise the client could not tell that it has received only a part.
 * @param report publishes and logs the error
 */
export function abortOnError({ done }: StreamedBody, context: Context, report: (error: unknown) => void): void {
  const { req, res } = context
  const abort = (error: unknown): void => {
    // The client has disconnected, or middleware of the application has sent another body.
    if (res.destroyed || res.writableEnded) return
    const { socket } = req
    // With HTTP/2 one socket carries many responses, so only the stream is closed. Without chunks, as in HTTP/1.0, the end
    // of the connection is the end of the body: only a reset shows that it is incomplete.
    if (req.httpVersionMajor >= 2) res.destroy()
    else if ('encrypted' in socket) socket.destroy()
    else socket.resetAndDestroy()
    report(error)
  }
  ignoreClosedConnection(context)
  // An error of `context.throw(…)` is not reported: Koa cannot render it any more.
  done.catch(abort).catch(() => undefined)
}

/** Errors of Node.js for a response whose connection is closed before its end. */
const closedCodes: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
])

/**
 * Stops Koa from reporting that the connection of a streamed body is closed early. Either the client has disconnected, or
 * the cause is reported already.
 */
function ignoreClosedConnection(context: Context): void {
  const report = context.onerror
  context.onerror = (error) => {
    const canRespond = !context.headerSent && context.writable
    if (canRespond || !closedCodes.has(Object(error).code)) report.call(context, error)
  }
}
