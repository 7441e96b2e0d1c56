import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import { type FieldError, type FieldErrors, RequestError } from './errors'

/** Additional contents of a problem document, and headers of its response. */
export interface ProblemDetails {
  /** Field to which `detail` applies: `errors` of the problem document then starts with it. */
  readonly field?: string
  /** Further errors in single fields. */
  readonly errors?: readonly FieldError[]
  /** Headers of the response. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A problem document (RFC 9457) that application code has thrown. */
export interface ThrownProblem {
  readonly status: number
  readonly detail: string
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Property of the errors that {@link problem} returns. They are recognised by it, not by `instanceof`, because the
 * application may have two copies of this package.
 */
const thrownProblem = Symbol.for('typeorm-resources.problem')

/** Error that is returned as a problem document. Koa renders it as plain text in other routes of the application. */
class ProblemError extends RequestError {
  override readonly name = 'ProblemError'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Koa shows the message of such an error to the client. */
  readonly expose = true
  readonly [thrownProblem]: ThrownProblem

  constructor(contents: ThrownProblem) {
    super(contents.detail)
    this.status = contents.status
    this.headers = contents.headers
    this[thrownProblem] = contents
  }
}

/**
 * Creates an error that listeners, subscribers, validators, access rules and the functions of options may throw to
 * refuse a request. The response is a problem document (RFC 9457) with this status and detail, and nothing is written
 * (specification: Problems of the application).
 * @param status from 400 to 499, or 503
 * @param detail what is wrong with the request, as a sentence that is complete without the name of `details.field`. It is
 * shown to the client, like the names of fields in `details`
 * @throws {TypeError} for an argument that is not allowed
 * @example
 * throw problem(409, 'the invoice has been sent', { field: 'invoice' })
 */
export function problem(status: number, detail: string, details: ProblemDetails = {}): Error {
  checkArguments(status, detail, details)
  const { field, errors = [], headers = {} } = details
  const ownErrors = field === undefined ? [] : [{ field, message: detail }]
  return new ProblemError({
    status,
    detail,
    errors: [...ownErrors, ...errors.map(({ field: name, message }) => ({ field: name, message }))],
    headers: { ...headers },
  })
}

/** The problem document that application code has thrown; undefined for any other error. */
export function problemOf(error: unknown): ThrownProblem | undefined {
  return typeof error === 'object' && error !== null
    ? (error as { readonly [thrownProblem]?: ThrownProblem })[thrownProblem]
    : undefined
}

/**
 * Adds the position of a record to the errors of a problem that application code has thrown for one of several records.
 * @returns any other error unchanged
 */
export function problemAt(error: unknown, record: FieldErrors): unknown {
  const contents = problemOf(error)
  if (contents === undefined || contents.errors.length === 0) return error
  return new ProblemError({ ...contents, errors: record.locate(contents.errors) })
}

/** Title of a problem without a type of its own: the reason phrase of its status (RFC 9457, about:blank). */
export function titleOf(status: number): string {
  // Clients treat an unknown 4xx as a 400 (RFC 9110, status codes).
  return STATUS_CODES[status] ?? STATUS_CODES[400] ?? ''
}

const detailNames: readonly string[] = ['field', 'errors', 'headers']

/** @throws {TypeError} */
function checkArguments(status: number, detail: string, details: ProblemDetails): void {
  const isAllowed = Number.isInteger(status) && ((status >= 400 && status < 500) || status === 503)
  if (!isAllowed) throw new TypeError(`the status of a problem must be 400 to 499, or 503, not ${status}`)
  if (typeof detail !== 'string') throw new TypeError('the detail of a problem must be a string')
  const unknown = Object.keys(details).find((name) => !detailNames.includes(name))
  if (unknown !== undefined) {
    throw new TypeError(`unknown member "${unknown}" of a problem; members: ${detailNames.join(', ')}`)
  }
  const { field, errors = [], headers = {} } = details
  if (field !== undefined && typeof field !== 'string') throw new TypeError('"field" of a problem must be a string')
  if (!Array.isArray(errors) || !errors.every(isFieldError)) {
    throw new TypeError('"errors" of a problem must be an array of { field, message }, which are strings')
  }
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  }
}

function isFieldError(error: unknown): error is FieldError {
  const { field, message } = Object(error) as Partial<FieldError>
  return typeof field === 'string' && typeof message === 'string'
}
