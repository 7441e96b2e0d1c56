/**
 * The refusals of this service, with code, status and title: 4xx, 503, and 500 for a record that exceeds a limit. The
 * code is the last part of the problem document's `type` (RFC 9457). docs/reference/errors.md explains each code.
 */
export const refusals = {
  unauthorized: { status: 401, title: 'Login required' },
  'cross-origin': { status: 403, title: 'Sent by another origin' },
  'not-owner': { status: 403, title: 'Not the owner' },
  forbidden: { status: 403, title: 'Not permitted' },
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
  'too-many-requests': { status: 429, title: 'Too many failed logins' },
  'record-too-large': { status: 500, title: 'The record is too large' },
  unavailable: { status: 503, title: 'Unavailable for the moment' },
} as const

export type RefusalCode = keyof typeof refusals

/** An error in one field or parameter. `message` is a predicate that follows its name: "must be an integer". */
export interface FieldError {
  readonly field: string
  readonly message: string
}

/** Additional members of the problem document, and response headers. */
export interface RefusalDetails {
  readonly errors?: readonly FieldError[]
  readonly headers?: Readonly<Record<string, string>>
  /** For `unauthorized`: the challenge that replaces that of the same scheme. */
  readonly challenge?: string | undefined
}

/**
 * Base class of the errors that are refusals. It has no stack trace: the stack of a refusal is never used, and recording it took a fifth of
 * the response time.
 */
export class RequestError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** A refusal of a request. Thrown by the stage that detects the error; rendered in `response/http-response.ts`. */
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

/** Value of the header `Retry-After`, in seconds (RFC 9110). */
export const retryAfterSeconds = '1'

/** Creates the 503 for a request that may succeed when it is repeated. */
export function unavailable(detail: string): ApiError {
  return new ApiError('unavailable', detail, { headers: { 'Retry-After': retryAfterSeconds } })
}

/** A value that a field or parameter does not accept. The message is a predicate that follows its name. */
export class ValueError extends RequestError {
  override readonly name = 'ValueError'
}

/**
 * Collects a mistake in the application's configuration. All mistakes are reported together
 * (specification: Checks at mount).
 */
export type Report = (mistake: string) => void

/**
 * Mistakes in the application's configuration, found at mount. The message has one line for each
 * (specification: Checks at mount).
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly mistakes: readonly string[]) {
    super(`typeorm-resources cannot be mounted:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`)
  }
}

/** Greatest number of errors in one response. */
const maxErrors = 20
/** Greatest length of a field's name in an error, in characters. */
const maxNameLength = 128

/**
 * Collects the errors of a request, so that one response reports all of them, up to twenty
 * (specification: Error documents).
 */
export class FieldErrors {
  readonly #errors: FieldError[]
  readonly #prefix: string

  constructor(errors: FieldError[] = [], prefix = '') {
    this.#errors = errors
    this.#prefix = prefix
  }

  /** The same errors, for a part of the request: the fields of those that are added start with its name. */
  within(part: string): FieldErrors {
    return new FieldErrors(this.#errors, `${this.#prefix}${part}.`)
  }

  get isEmpty(): boolean {
    return this.#errors.length === 0
  }

  /** Whether the limit is reached, so that checking can stop. */
  get isFull(): boolean {
    return this.#errors.length >= maxErrors
  }

  /** Adds an error, unless the limit is reached. */
  add(field: string, message: string): void {
    if (this.isFull) return
    const fullName = this.#prefix + field
    const name = fullName.length > maxNameLength ? `${fullName.slice(0, maxNameLength)}…` : fullName
    this.#errors.push({ field: name, message })
  }

  /** Returns the result of `parse`. If it throws a `ValueError`, adds the error to the field and returns undefined. */
  try<T>(field: string, parse: () => T): T | undefined {
    try {
      return parse()
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
      this.add(field, error.message)
      return undefined
    }
  }

  /** All errors as sentences. */
  get text(): string {
    const sentences = this.#errors.map(({ field, message }) => `${field} ${message}`)
    if (this.isFull) sentences.push('There may be more')
    return sentences.join('. ')
  }

  /** Throws one refusal with all collected errors. @throws {ApiError} if there are errors */
  raise(code: RefusalCode): void {
    if (!this.isEmpty) throw new ApiError(code, this.text, { errors: this.#errors })
  }
}
