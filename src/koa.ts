import type { Context, Middleware } from 'koa'
import getRawBody from 'raw-body'
import type { ResourceRequest, Service } from './actions'
import { ApiError } from './errors'
import { handle } from './handle'
import type { Payload } from './request/body'
import { limits } from './request/limits'
import { type Answer, answerFault, answerRefusal } from './response/answer'
import type { Registry } from './schema/registry'

/**
 * One route for all resources: `/api/<resource>/` and `/api/<resource>/<id>/`, with and without the last slash (D1). The path
 * is taken as it was sent: `%73ecret` is not the resource `secret`. What is not ours is left untouched for the next.
 * @param base `/api`
 */
export function buildMiddleware(base: string, { resources }: Registry, service: Service): Middleware {
  const ours = new RegExp(`^${base.replaceAll('.', '\\.')}/([^/]+)(?:/([^/]+))?/?$`)
  return async (context, next) => {
    const [, name = '', segment] = ours.exec(targetPath(context)) ?? []
    const resource = resources.get(name)
    if (resource === undefined) return next()
    const collection = `${mountPoint(context)}${base}/${name}/`
    const request = { resource, segment, collection, ...requestOf(context) }
    send(context, await handle(service, request).catch((error: unknown) => answerError(context, error)))
  }
}

function requestOf(context: Context): Omit<ResourceRequest, 'resource' | 'segment' | 'collection'> {
  return {
    method: context.method,
    querystring: context.querystring,
    authorization: context.headers.authorization,
    context,
    readPayload: () => readPayload(context),
  }
}

/**
 * The path as it was sent. Koa's own is tidied by `url.parse`, which takes `\\` for `/` where a `#` stands in the target, and
 * throws for some: such a target has no canonical form (RFC 9112, request target).
 */
function targetPath({ url, originalUrl }: Context): string {
  if (/[#\\]/.test(originalUrl)) return ''
  const [path = ''] = withoutOrigin(url).split('?')
  return path
}

/** The part of the path that the application has taken off before us, as `koa-mount` does. */
function mountPoint({ originalUrl, url }: Context): string {
  const [whole, rest] = [withoutOrigin(originalUrl), withoutOrigin(url)]
  return whole.endsWith(rest) ? whole.slice(0, whole.length - rest.length) : ''
}

/** A request target in absolute form names scheme and host too. */
function withoutOrigin(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, '')
}

function answerError(context: Context, error: unknown): Answer {
  if (error instanceof ApiError) return answerRefusal(error)
  // What a rule of the application's own throws by `context.throw(403)` is for Koa to answer.
  if (error instanceof Error && 'expose' in error && error.expose === true) throw error
  context.app.emit('error', error, context)
  return answerFault()
}

/** Hands the answer to Koa, which leaves out the body of a HEAD. */
function send(context: Context, { status, headers, body }: Answer): void {
  context.status = status
  context.body = body || null
  context.set(headers)
}

/** What body parsers leave on Koa's request. */
interface ParsedRequest {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/**
 * Reads a request's body, or takes what a body parser of the application has read before us (D6).
 * @throws {ApiError} `body-too-large`, `unsupported-media-type`, `bad-body`
 */
async function readPayload(context: Context): Promise<Payload> {
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
      // What is left of it is let go by, so that the connection can be used again.
      context.req.resume()
      throw new ApiError('body-too-large', `a body may have ${limits.body} bytes`)
    }
    throw new ApiError('bad-body', 'the body ended before it was complete')
  }
}
