import { pause } from '../connection/pauses'
import { type Body, type OnParsed, type Payload, parseBodies, parseBody } from '../request/body'
import { minCountedLength } from '../response/held-bytes'
import { type HttpResponse, jsonResponse } from '../response/http-response'
import type { WrittenRecord } from '../write/write-store'
import type { ResourceRequest, Service } from './service'

/**
 * Reads and parses the body of a write.
 * @throws {ApiError} `unavailable`, and the errors of a body that cannot be read
 */
export async function readBody({ limits }: Pick<Service, 'limits'>, request: BodyRequest): Promise<Body> {
  const payload = await receivePayload(request, limits.body)
  return parseBody(payload, limits, reservesParsed(request, payload))
}

/** Reads and parses the body of a POST, which may be an array of records if the resource has the option `bulk`. */
export async function readBodies(service: Service, request: ResourceRequest): Promise<Body | readonly Body[]> {
  const { limits } = service
  const { bulk } = request.resource
  if (bulk === 0) return readBody(service, request)
  const payload = await receivePayload(request, maxBodyBytes(service, request))
  return parseBodies(payload, limits, bulk, () => pause(request.session), reservesParsed(request, payload))
}

/**
 * Approximate memory of a parsed value, in bytes: that of an empty object and of the reference to it. Its JSON can be three
 * characters long, so that the values of a body can take twenty times the memory of its text.
 */
const valueBytes = 64

/**
 * Returns a function that reserves the memory of the values of a body, which are kept until it is written.
 * @throws {ApiError} `unavailable`
 */
export function reservesParsed({ responseMemory }: Pick<BodyRequest, 'responseMemory'>, payload: Payload): OnParsed {
  const size = 'bytes' in payload ? payload.bytes.length : 0
  return (values) => {
    const bytes = size + values * valueBytes
    if (bytes >= minCountedLength) responseMemory().reserve(bytes)
  }
}

/** Maximum size of the body of a write, in bytes. The body of a POST may be an array of records. */
export function maxBodyBytes({ limits }: Service, { method, resource }: ResourceRequest): number {
  return method === 'POST' && resource.bulk > 0 ? Math.max(limits.body, limits.bulkBody) : limits.body
}

/**
 * Reads the body of a write. Memory for a response with all of its values is reserved here, because the response must be
 * sent once the write is done.
 * @param limit maximum size of the body, in bytes
 * @throws {ApiError} `unavailable`, and the errors of a body that cannot be read
 */
export async function receivePayload(request: BodyRequest, limit: number): Promise<Payload> {
  const memory = request.responseMemory()
  memory.noteWaiting(true)
  const payload = await request.readPayload(limit, (size) => {
    if (size >= minCountedLength) memory.receive(size)
  })
  memory.noteWaiting(false)
  // The size of a body that the application's own body parser has read is known only from its `Content-Length`. Without
  // this header, the body counts as the maximum.
  const declaredSize = Number(request.headers['content-length'] ?? limit)
  const size = 'bytes' in payload ? payload.bytes.length : declaredSize
  // Most bodies are too small to be counted.
  if (size >= minCountedLength) memory.reserve(size)
  return payload
}

/** The members of a request that {@link receivePayload} needs. */
export type BodyRequest = Pick<ResourceRequest, 'readPayload' | 'headers' | 'responseMemory'>

/**
 * Last segment of the path of the record that a write has created, or found by its values; undefined if its headers do not name
 * one record.
 */
export function writtenSegment(headers: HttpResponse['headers']): string | undefined {
  return String(headers['Location'] ?? headers['Content-Location'] ?? '')
    .split('/')
    .at(-2)
}

/** Builds the response to a write: the record, and the ETag of the stored values. */
export function savedResponse(
  status: 200 | 201,
  { json, tag }: WrittenRecord,
  headers: HttpResponse['headers'] = {},
): HttpResponse {
  return jsonResponse(status, json, { ...headers, ETag: tag })
}
