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
  'bad-idempotency-key': { status: 400, title: 'The Idempotency-Key cannot be used' },
  conflict: { status: 409, title: 'In conflict with other records' },
  'idempotency-key-in-use': { status: 409, title: 'The first request is still running' },
  'precondition-failed': { status: 412, title: 'The record has changed' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'idempotency-key-reused': { status: 422, title: 'The Idempotency-Key belongs to another request' },
  'precondition-required': { status: 428, title: 'If-Match is required' },
  'too-many-requests': { status: 429, title: 'Too many failed logins' },
  'too-many-live-lists': { status: 429, title: 'Too many live lists' },
  'record-too-large': { status: 500, title: 'The record is too large' },
  unavailable: { status: 503, title: 'Unavailable for the moment' },
} as const

export type RefusalCode = keyof typeof refusals

/** Position of a record in a request with several records: its index in an array, or its line in a file. */
export interface RecordPosition {
  /** Index in the array of the body, from 0. */
  readonly index?: number
  /** Line of an import, from 1. */
  readonly line?: number
}

/** An error in one field or parameter. `message` is a predicate that follows its name: "must be an integer". */
export interface FieldError extends RecordPosition {
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
 * Base class of the errors that are refusals. It has no stack trace: the stack of a refusal is never used, and recording it
 * took a fifth of the response time.
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

/**
 * Converts a refusal of another copy of this package, to which an authenticator may belong, into one of this copy. Returns
 * other errors unchanged.
 */
export function ownRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'ApiError' || error instanceof ApiError) return error
  const { code, message, details } = error as ApiError
  return Object.hasOwn(refusals, code) ? new ApiError(code, message, details) : error
}

/**
 * A conflict with a record that another request may have created at the same time. `retryOnce` repeats the transaction, which
 * may find this record then.
 */
export class ConcurrentConflict extends ApiError {
  constructor({ message, details }: ApiError) {
    super('conflict', message, details)
  }
}

/** Value of the header `Retry-After`, in seconds (RFC 9110). */
export const retryAfterSeconds = '1'

/** Creates the 503 for a request that may succeed when it is repeated. */
export function unavailable(detail: string): ApiError {
  return new ApiError('unavailable', detail, { headers: { 'Retry-After': retryAfterSeconds } })
}

/** Creates the error that ends a request whose client has disconnected. No client receives the response. */
export function clientDisconnected(): ApiError {
  return unavailable('the client has closed its connection')
}

/** Creates the 503 for a request before the data source is initialized. */
export function notConnected(): ApiError {
  return unavailable('the database is not connected; the application connects it with dataSource.initialize()')
}

/** Creates the refusal of a method. @param methods those that the path has, for the header `Allow` */
export function methodNotAllowed(method: string, methods: string): ApiError {
  const detail = `${method} is not allowed here; allowed methods: ${methods}`
  return new ApiError('method-not-allowed', detail, { headers: { Allow: methods } })
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
  // Node.js prints the properties of an error after its message, which has the mistakes already.
  readonly #mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`typeorm-resources cannot be mounted:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`)
    this.#mistakes = mistakes
  }

  get mistakes(): readonly string[] {
    return this.#mistakes
  }
}

/** Greatest number of errors in one response. */
export const maxErrors = 20
/** Greatest length of a field's name in an error, in characters. */
const maxNameLength = 128

/** Errors of one request, which all parts of a {@link FieldErrors} share. */
interface CollectedErrors {
  readonly errors: FieldError[]
  /** Code of the refusals of single records; undefined if there are none. */
  refusal: RefusalCode | undefined
  /** Whether there are errors that are not refusals of single records. */
  hasOthers: boolean
  /** Whether one of the refusals of single records was a {@link ConcurrentConflict}. */
  mayBeConcurrent: boolean
}

/**
 * Collects the errors of a request, so that one response reports all of them, up to twenty
 * (specification: Error documents).
 */
export class FieldErrors {
  readonly #collected: CollectedErrors
  readonly #prefix: string
  readonly #position: RecordPosition

  constructor(
    collected: CollectedErrors = { errors: [], refusal: undefined, hasOthers: false, mayBeConcurrent: false },
    prefix = '',
    position: RecordPosition = {},
  ) {
    this.#collected = collected
    this.#prefix = prefix
    this.#position = position
  }

  /**
   * The same errors, for a part of the request: the fields of those that are added start with its name.
   * @param part empty for the whole request
   */
  within(part: string): FieldErrors {
    if (part === '') return this
    return new FieldErrors(this.#collected, `${this.#prefix}${part}.`, this.#position)
  }

  /** The same errors, for one of several records: those that are added have its position. */
  at(position: RecordPosition): FieldErrors {
    return new FieldErrors(this.#collected, this.#prefix, position)
  }

  /** A copy, to which errors can be added without changing this object. */
  copy(): FieldErrors {
    const { errors, ...others } = this.#collected
    return new FieldErrors({ errors: [...errors], ...others }, this.#prefix, this.#position)
  }

  get isEmpty(): boolean {
    return this.#collected.errors.length === 0
  }

  /** Whether the limit is reached, so that checking can stop. */
  get isFull(): boolean {
    return this.#collected.errors.length >= maxErrors
  }

  /** Adds the name of this part and the position of this record to errors, without collecting them. */
  locate(errors: readonly FieldError[]): readonly FieldError[] {
    return errors.map(({ field, message }) => ({ ...this.#position, field: this.#prefix + field, message }))
  }

  /** Number of errors that can still be added. */
  get room(): number {
    return maxErrors - this.#collected.errors.length
  }

  /** Adds an error, unless the limit is reached. */
  add(field: string, message: string): void {
    this.#push(field, message)
    this.#collected.hasOthers = true
  }

  /** Adds the refusal of one of several records, unless the limit is reached. Its code must say that values are wrong. */
  addRefusal(refusal: ApiError): void {
    const { code, message, details } = refusal
    const { errors = [] } = details
    for (const error of errors) this.#push(error.field, error.message)
    if (errors.length === 0) this.#push('', message)
    this.#collected.refusal = code === 'bad-values' ? code : (this.#collected.refusal ?? code)
    this.#collected.mayBeConcurrent ||= refusal instanceof ConcurrentConflict
  }

  #push(field: string, message: string): void {
    if (this.isFull) return
    const fullName = field === '' ? this.#prefix.replace(/\.$/, '') : this.#prefix + field
    const name = fullName.length > maxNameLength ? `${fullName.slice(0, maxNameLength)}…` : fullName
    this.#collected.errors.push({ ...this.#position, field: name, message })
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
    const sentences = this.#collected.errors.map(
      (error) => `${recordOf(error)}${error.field === '' ? '' : `${error.field} `}${error.message}`,
    )
    if (this.isFull) sentences.push('There may be more')
    return sentences.join('. ')
  }

  /**
   * Throws one refusal with all collected errors.
   * @param code replaced by that of the records, if all errors are refusals of single records
   * @throws {ApiError} if there are errors
   * @throws {ConcurrentConflict} if all of them are conflicts, of which another request may have caused one
   */
  raise(code: RefusalCode): void {
    if (this.isEmpty) return
    const { hasOthers, refusal = code, errors, mayBeConcurrent } = this.#collected
    const error = new ApiError(hasOthers ? code : refusal, this.text, { errors })
    throw mayBeConcurrent && error.code === 'conflict' ? new ConcurrentConflict(error) : error
  }
}

/** The start of a sentence about an error in one of several records. */
function recordOf({ index, line }: RecordPosition): string {
  if (index !== undefined) return `record ${index}: `
  return line === undefined ? '' : `line ${line}: `
}
