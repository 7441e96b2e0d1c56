import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { ApiError } from '../errors'
import type { Payload } from '../request/body'

/** Properties that body parsers add to a request: for Koa to Koa's request, for Express to Node's request. */
interface ParsedRequest {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/**
 * Reads the body of a request, or returns what a body parser of the application has already read
 * (specification: Bodies).
 * @param limit maximum size of the body, in bytes
 * @throws {ApiError} `body-too-large`, `unsupported-media-type`, `bad-body`
 */
export async function readPayload(context: Context, limit: number): Promise<Payload> {
  const contentType = context.get('Content-Type')
  const { body, rawBody } = ('body' in context.request ? context.request : context.req) as ParsedRequest
  const encoding = context.get('Content-Encoding').toLowerCase()
  if (encoding !== '' && encoding !== 'identity') {
    const detail = `the content encoding ${encoding} is not supported; send the body without it`
    throw new ApiError('unsupported-media-type', detail)
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
      // Discards the rest of the body, so that the connection can be used for further requests.
      context.req.resume()
      throw new ApiError('body-too-large', `a body may have at most ${limit} bytes`)
    }
    throw new ApiError('bad-body', 'the body ended before it was complete')
  }
}
