import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { ApiError } from '../errors'
import type { Payload } from '../request/body'

/** What body parsers leave on Koa's request, and those of Express on Node's. */
interface ParsedRequest {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/**
 * Reads a request's body, or takes what a body parser of the application has read before us (specification: Bodies).
 * @throws {ApiError} `body-too-large`, `unsupported-media-type`, `bad-body`
 */
export async function readPayload(context: Context, limit: number): Promise<Payload> {
  const contentType = context.get('Content-Type')
  const { body, rawBody } = ('body' in context.request ? context.request : context.req) as ParsedRequest
  const encoding = context.get('Content-Encoding').toLowerCase()
  if (encoding !== '' && encoding !== 'identity') {
    throw new ApiError('unsupported-media-type', `the content encoding ${encoding} is not read; send the body as it is`)
  }
  if (context.req.readableDidRead || context.req.readableEnded) {
    const raw = typeof rawBody === 'string' ? Buffer.from(rawBody) : body
    return Buffer.isBuffer(raw) ? { contentType, bytes: raw } : { contentType, parsed: raw }
  }
  return { contentType, bytes: await readBytes(context, limit) }
}

async function readBytes(context: Context, limit: number): Promise<Buffer> {
  try {
    return await getRawBody(context.req, { limit, length: context.get('Content-Length') || null })
  } catch (error) {
    if (!(error instanceof Error) || !('type' in error)) throw error
    if (error.type === 'entity.too.large') {
      // What is left of it is let go by, so that the connection can be used again.
      context.req.resume()
      throw new ApiError('body-too-large', `a body may have ${limit} bytes`)
    }
    throw new ApiError('bad-body', 'the body ended before it was complete')
  }
}
