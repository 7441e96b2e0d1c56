/**
 * Every refusal this service can give, 4xx, 503, and 500 for what its limits keep from being shown: its code, status and title.
 * The code is the last part of the problem's `type` (RFC 9457); docs/reference/errors.md explains each.
 */
export const refusals = {
  unauthorized: { status: 401, title: 'Login required' },
  'cross-origin': { status: 403, title: 'Sent by another origin' },
  'not-owner': { status: 403, title: 'Not the owner' },
  'not-found': { status: 404, title: 'No such record' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'bad-query': { status: 400, title: 'The query cannot be answered' },
  'bad-body': { status: 400, title: 'The body cannot be read' },
  'bad-values': { status: 400, title: 'The values are not accepted' },
  conflict: { status: 409, title: 'In conflict with other records' },
  'precondition-failed': { status: 412, title: 'The record has changed' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'precondition-required': { status: 428, title: 'If-Match is required' },
  'record-too-large': { status: 500, title: 'The record is too large' },
  unavailable: { status: 503, title: 'Unavailable for the moment' },
} as const

export type RefusalCode = keyof typeof refusals

/** What is wrong with one field or parameter; `message` reads on from the name: "must be an integer". */
export interface FieldError {
  readonly field: string
  readonly message: string
}

/** What else a refusal says. */
export interface RefusalDetails {
  readonly errors?: readonly FieldError[]
  readonly headers?: Readonly<Record<string, string>>
}

/** Refuses a request, or a value of one. It records no stack, which nobody reads, and which would take a fifth of the answer's time. */
class RequestError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** A request that is refused. Thrown at the stage that notices, rendered once, in `response/answer.ts`. */
export class ApiError extends RequestError {
  override readonly name = 'ApiError'
  constructor(
    readonly code: RefusalCode,
    detail: string,
    readonly details: RefusalDetails = {},
  ) {
    super(detail)
  }
}

/** Seconds after which a client may try again (RFC 9110, Retry-After). */
const retryAfter = '1'

/** The refusal of what could be answered a little later. */
export function unavailable(detail: string): ApiError {
  return new ApiError('unavailable', detail, { headers: { 'Retry-After': retryAfter } })
}

/** A value that a field cannot take; the message reads on from the field's name. */
export class ValueError extends RequestError {
  override readonly name = 'ValueError'
}

/** Takes a mistake of the application's set-up, in a sentence; all are reported together (specification: Checks at mount). */
export type Report = (mistake: string) => void

/** What the application has set up wrongly: every mistake found at mount, one a line (specification: Checks at mount). */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly mistakes: readonly string[]) {
    super(`typeorm-resources cannot be mounted:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`)
  }
}

const reportedErrors = 20
const reportedName = 128

/** Gathers what is wrong with a request, so that its sender learns all of it at once (specification: Error documents); of very much the first. */
export class FieldErrors {
  readonly #found: FieldError[] = []

  get isEmpty(): boolean {
    return this.#found.length === 0
  }

  /** Whether more need not be looked for. */
  get isFull(): boolean {
    return this.#found.length >= reportedErrors
  }

  add(field: string, message: string): void {
    const name = field.length > reportedName ? `${field.slice(0, reportedName)}…` : field
    this.#found.push({ field: name, message })
  }

  /** What `read` returns; or `undefined`, with its `ValueError` noted under the field's name. */
  try<T>(field: string, read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
      this.add(field, error.message)
      return undefined
    }
  }

  /** @throws {ApiError} when anything was noted */
  raise(code: RefusalCode): void {
    if (this.isEmpty) return
    const sentences = this.#found.map(({ field, message }) => `${field} ${message}`)
    if (this.isFull) sentences.push('There may be more')
    throw new ApiError(code, sentences.join('. '), { errors: this.#found })
  }
}
