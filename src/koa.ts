import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { ApiError } from './errors'
import type { Payload } from './request/body'
import { limits } from './request/limits'
import type { Answer } from './response/answer'

/** What body parsers leave on Koa's request. */
interface ParsedRequest {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/**
 * Reads a request's body, or takes what a body parser of the application has read before us (D6).
 * @throws {ApiError} `body-too-large`, `unsupported-media-type`, `bad-body`
 */
export async function readPayload(context: Context): Promise<Payload> {
  const contentType = context.get('Content-Type')
  const { body, rawBody } = context.request as ParsedRequest
  if (context.req.readableDidRead || context.req.readableEnded) {
    const raw = typeof rawBody === 'string' ? Buffer.from(rawBody) : body
    return Buffer.isBuffer(raw) ? { contentType, bytes: raw } : { contentType, parsed: raw }
  }
  const encoding = context.get('Content-Encoding').toLowerCase()
  if (encoding !== '' && encoding !== 'identity') {
    throw new ApiError('unsupported-media-type', `the content encoding ${encoding} is not read; send the body as it is`)
  }
  return { contentType, bytes: await readBytes(context) }
}

async function readBytes(context: Context): Promise<Buffer> {
  try {
    return await getRawBody(context.req, { limit: limits.body, length: context.get('Content-Length') || null })
  } catch (error) {
    if (!(error instanceof Error) || !('type' in error)) throw error
    if (error.type === 'entity.too.large') {
      throw new ApiError('body-too-large', `a body may have ${limits.body} bytes`)
    }
    throw new ApiError('bad-body', 'the body ended before it was complete')
  }
}

/** The part of the path that the application has taken off before us, as `koa-mount` does. */
export function mountPoint({ originalUrl, url }: Context): string {
  return originalUrl.endsWith(url) ? originalUrl.slice(0, originalUrl.length - url.length) : ''
}

/** Hands the answer to Koa, which leaves out the body of a HEAD. */
export function send(context: Context, { status, headers, body }: Answer): void {
  context.status = status
  context.body = body || null
  context.set({ ...headers })
}
