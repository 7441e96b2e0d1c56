import type { Readable } from 'node:stream'
import { schemeOf } from '../access/authenticator'
import { type ApiError, type FieldError, type RefusalCode, refusals, retryAfterSeconds } from '../errors'
import { type ThrownProblem, titleOf } from '../problem'

/** Body that is sent while it is read. */
export interface StreamedBody {
  readonly readable: Readable
  /** Rejects with an error that occurs after the first byte. The rest of the body is then missing. */
  readonly done: Promise<void>
}

/** Response to a request, before Koa sends it. */
export interface HttpResponse {
  readonly status: number
  /** Headers by name; an array for a header with several lines. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Value of the header `Cache-Control`. If undefined, {@link withCaching} sets it for responses of resources. */
  readonly cacheControl: string | undefined
  /**
   * Empty if the response has no body, or if `stream` is the body. Without both, Koa removes `Content-Type`, and turns the
   * status 200 into 204.
   */
  readonly body: string
  /**
   * The body instead of `body`, encoded in UTF-8. Large texts that many responses have are encoded only once: Node.js takes
   * about 25 ms for each million characters of a string.
   */
  readonly bytes?: Buffer | undefined
  /** A body that is sent while it is read from the database; undefined if `body` is all of it. */
  readonly stream?: StreamedBody | undefined
}

const jsonType = 'application/json; charset=utf-8'
const problemType = 'application/problem+json; charset=utf-8'
const noStore = 'no-store'

/** @param body JSON */
export function jsonResponse(status: number, body: string, headers: HttpResponse['headers'] = {}): HttpResponse {
  return { status, headers: { 'Content-Type': jsonType, ...headers }, cacheControl: undefined, body }
}

/**
 * Creates the response with a page or one of its files. Caches may store it, but must revalidate it before each use.
 * @param type media type, with the charset
 */
export function textResponse(type: string, body: string, headers: HttpResponse['headers']): HttpResponse {
  return { status: 200, headers: { 'Content-Type': type, ...headers }, cacheControl: 'no-cache', body }
}

/** Sets a body that is encoded already. */
export function withBytes(response: HttpResponse, bytes: Buffer): HttpResponse {
  return { ...response, bytes }
}

/** Adds that the response depends on the header `Accept`. */
export function varyingByAccept(response: HttpResponse): HttpResponse {
  return { ...response, headers: { ...response.headers, Vary: 'Accept' } }
}

export function emptyResponse(headers: HttpResponse['headers'] = {}): HttpResponse {
  return { status: 204, headers, cacheControl: undefined, body: '' }
}

/** Creates the response for a client that already has the current representation (RFC 9110, 304). */
export function notModifiedResponse(etag: string): HttpResponse {
  return { status: 304, headers: { ETag: etag }, cacheControl: undefined, body: '' }
}

/**
 * Adds `Cache-Control` to a response that has none: caches must revalidate the response before each use.
 * @param isPublic whether shared caches may store it; false for responses to authenticated users
 */
export function withCaching(response: HttpResponse, isPublic: boolean): HttpResponse {
  return { ...response, cacheControl: response.cacheControl ?? (isPublic ? 'no-cache' : 'private, no-cache') }
}

/**
 * Creates the response of the health check, which contains only the status.
 * @param status `warn` if an optional part has failed
 */
export function healthResponse(status: 'pass' | 'warn'): HttpResponse {
  return { ...jsonResponse(200, JSON.stringify({ status })), cacheControl: noStore }
}

/**
 * Creates the response to a request without correct credentials (specification: Refusal by the access rule).
 * @param challenges those of all authenticators of the mount
 * @param challenge is sent instead of the one with the same scheme
 */
export function unauthorizedResponse(challenges: readonly string[], challenge?: string): HttpResponse {
  const isReplaced = (one: string): boolean => challenge !== undefined && schemeOf(one) === schemeOf(challenge)
  return {
    status: 401,
    headers: {
      'WWW-Authenticate': challenges.map((one) => (isReplaced(one) ? (challenge ?? one) : one)),
      'Content-Type': 'text/html; charset=utf-8',
    },
    cacheControl: noStore,
    body: 'Authentication failed',
  }
}

/** Creates the problem document of a refusal (specification: Error documents). */
export function problemResponse({ code, message, details }: ApiError): HttpResponse {
  const { title, status } = refusals[code]
  const { errors, headers } = details
  return problemDocument(
    { type: typeOf(code), title, status, detail: message, ...(errors?.length && { errors }) },
    headers,
  )
}

/** Creates the problem document that application code has thrown (specification: Problems of the application). */
export function thrownProblemResponse({ status, detail, errors, headers }: ThrownProblem): HttpResponse {
  const retry = status === 503 ? { 'Retry-After': retryAfterSeconds } : {}
  return problemDocument(
    { type: 'about:blank', title: titleOf(status), status, detail, ...(errors.length > 0 && { errors }) },
    { ...retry, ...headers },
  )
}

/**
 * Adds the index of the refused operation to the problem document of a batch. A 401 has no problem document, so it is not
 * changed.
 */
export function withOperationIndex(response: HttpResponse, index: number): HttpResponse {
  if (response.headers['Content-Type'] !== problemType) return response
  return { ...response, body: `${response.body.slice(0, -1)},"index":${index}}` }
}

/** Creates the response to a fault, which contains no details of it. */
export function faultResponse(): HttpResponse {
  const detail = 'the server could not answer this request'
  return problemDocument({ type: typeOf('internal-error'), title: 'Internal server error', status: 500, detail })
}

/** The URN of a code of this service. */
function typeOf(code: RefusalCode | 'internal-error'): string {
  return `urn:typeorm-resources:${code}`
}

/** Members of a problem document (RFC 9457), in the order of the JSON. */
interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly errors?: readonly FieldError[]
}

function problemDocument(problem: Problem, headers: HttpResponse['headers'] = {}): HttpResponse {
  // `Content-Type` is the last header, so that application code cannot replace it.
  const { status } = problem
  return {
    status,
    headers: { ...headers, 'Content-Type': problemType },
    cacheControl: noStore,
    body: JSON.stringify(problem),
  }
}
