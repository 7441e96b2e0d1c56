import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { ApiError } from '../errors'
import type { Service } from '../pipeline/service'
import { type BodyRequest, readBody, receivePayload } from '../pipeline/write-body'
import type { Body, Payload } from '../request/body'
import { receiveBytes } from '../request/received-chunks'
import type { PageRequest } from './page'

/** Properties that body parsers add to a request: for Koa to Koa's request, for Express to Node's request. */
interface ParsedRequest {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/**
 * Reads the body of a request, or returns what a body parser of the application has already read
 * (specification: Bodies).
 * @param limit maximum size of the body, in bytes
 * @param onReceived called with the size of what has arrived so far; an error that it throws refuses the body
 * @throws {ApiError} `body-too-large`, `unsupported-media-type`, `bad-body`
 */
export async function readPayload(
  context: Context,
  limit: number,
  onReceived?: (size: number) => void,
): Promise<Payload> {
  requireNoEncoding(context)
  const contentType = context.get('Content-Type')
  const { body, rawBody } = ('body' in context.request ? context.request : context.req) as ParsedRequest
  if (context.req.readableDidRead || context.req.readableEnded) {
    const raw = typeof rawBody === 'string' ? Buffer.from(rawBody) : body
    return Buffer.isBuffer(raw) ? { contentType, bytes: raw } : { contentType, parsed: raw }
  }
  const declared = context.get('Content-Length')
  const size = declared === '' ? undefined : Number(declared)
  return { contentType, bytes: await receiveBytes(context.req, limit, size, onReceived) }
}

/** Receives the body of a request for a page, and counts its memory if it is large. @throws {ApiError} see `receivePayload` */
export function receivePagePayload(request: PageRequest, limit: number): Promise<Payload> {
  return receivePayload(bodyRequestOf(request), limit)
}

/** Receives and parses the body of a request for a page: one JSON object. @throws {ApiError} see `readBody` */
export function readPageBody(request: PageRequest, service: Pick<Service, 'limits'>): Promise<Body> {
  return readBody(service, bodyRequestOf(request))
}

function bodyRequestOf({ context, responseMemory }: PageRequest): BodyRequest {
  return { readPayload: (...args) => readPayload(context, ...args), headers: context.headers, responseMemory }
}

/**
 * Opens the body of an import as a stream.
 * @throws {ApiError} `unsupported-media-type`; `bad-body` if a body parser of the application has read the body, and kept
 * only a value
 */
export function openBody(context: Context): Readable {
  requireNoEncoding(context)
  const { req, request } = context
  if (!req.readableDidRead && !req.readableEnded) return req
  const { body, rawBody } = ('body' in request ? request : req) as ParsedRequest
  const read = [rawBody, body].find((one) => typeof one === 'string' || Buffer.isBuffer(one))
  if (read !== undefined) return Readable.from([Buffer.from(read as string)])
  const detail = 'a body parser of the application has read the import: exclude this content type from the body parser'
  throw new ApiError('bad-body', detail)
}

function requireNoEncoding(context: Context): void {
  const encoding = context.get('Content-Encoding').toLowerCase()
  if (encoding === '' || encoding === 'identity') return
  const detail = `the content encoding ${encoding} is not supported; send the body without it`
  throw new ApiError('unsupported-media-type', detail)
}
