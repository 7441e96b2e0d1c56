import { type ApiError, type FieldError, refusals } from '../errors'

/** What goes back to the client. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** `Cache-Control`, where there is something to say. */
  readonly caching: string | undefined
  /** Empty for none. */
  readonly body: string
}

const json = 'application/json; charset=utf-8'
const problem = 'application/problem+json; charset=utf-8'
const notStored = 'no-store'

/** @param body JSON */
export function jsonResponse(status: number, body: string, headers: HttpResponse['headers'] = {}): HttpResponse {
  return { status, headers: { 'Content-Type': json, ...headers }, caching: undefined, body }
}

/** A page or a part of one, which may be kept as long as its tag is asked for. @param type its media type, with its charset */
export function textResponse(type: string, body: string, headers: HttpResponse['headers']): HttpResponse {
  return { status: 200, headers: { 'Content-Type': type, ...headers }, caching: 'no-cache', body }
}

export function emptyResponse(headers: HttpResponse['headers'] = {}): HttpResponse {
  return { status: 204, headers, caching: undefined, body: '' }
}

/** What the client has is still the record (RFC 9110, 304). */
export function notModifiedResponse(tag: string): HttpResponse {
  return { status: 304, headers: { ETag: tag }, caching: undefined, body: '' }
}

/** What a cache may do with an answer: ask each time, and keep for its user alone what only a user is shown. */
export function withCaching(answer: HttpResponse, isPublic: boolean): HttpResponse {
  return { ...answer, caching: answer.caching ?? (isPublic ? 'no-cache' : 'private, no-cache') }
}

/** The site can answer: all is well, or a part is missing that it can do without; nothing else is said. */
export function healthResponse(status: 'pass' | 'warn'): HttpResponse {
  return { ...jsonResponse(200, JSON.stringify({ status })), caching: notStored }
}

/** The one answer of a refused login (specification: Refusal by the access rule). */
const loginRequired: HttpResponse = {
  status: 401,
  headers: {
    'WWW-Authenticate': 'Basic realm="Login Required"',
    'Content-Type': 'text/html; charset=utf-8',
  },
  caching: notStored,
  body: 'Authentication failed',
}

/** The problem document of a refusal (specification: Error documents). */
export function problemResponse({ code, message, details }: ApiError): HttpResponse {
  if (code === 'unauthorized') return loginRequired
  const { title, status } = refusals[code]
  const { errors, headers } = details
  return problemDocument({ code, title, status, detail: message, ...(errors?.length && { errors }) }, headers)
}

/** The answer to a fault of ours, which says nothing of it. */
export function faultResponse(): HttpResponse {
  const detail = 'the server could not answer this request'
  return problemDocument({ code: 'internal-error', title: 'Internal server error', status: 500, detail })
}

/** The members of RFC 9457, its `type` by our code. */
interface Problem {
  readonly code: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly errors?: readonly FieldError[]
}

function problemDocument({ code, ...members }: Problem, headers: HttpResponse['headers'] = {}): HttpResponse {
  const body = JSON.stringify({ type: `urn:typeorm-resources:${code}`, ...members })
  return { status: members.status, headers: { 'Content-Type': problem, ...headers }, caching: notStored, body }
}
