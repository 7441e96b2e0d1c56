/** The problem document of a refusal (RFC 9457). */
export interface Problem {
  /** Such as `urn:typeorm-resources:bad-values`; `about:blank` for a problem that the application has thrown. */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly errors?: readonly FieldError[]
  /** Index of the refused operation of a batch, from 0. */
  readonly index?: number
}

/**
 * Error of one field or parameter. `message` completes a sentence that starts with the name, such as
 * `must be an integer`.
 */
export interface FieldError {
  readonly field: string
  readonly message: string
  /** Index of the record, from 0, if the request has an array of records. */
  readonly index?: number
  /** Line of the record, from 1, if the request is an import. */
  readonly line?: number
}

/** Thrown for a response whose status is not 2xx, or whose body is not JSON. */
export class ResourceError extends Error {
  override readonly name = 'ResourceError'
  /** All errors of the values or of the query; empty for other responses. */
  readonly errors: readonly FieldError[]
  constructor(
    readonly status: number,
    /** Undefined if the response is not a problem document: a 401 of the access rule, or a response of a proxy. */
    readonly problem: Problem | undefined,
    message: string,
  ) {
    super(message)
    this.errors = Array.isArray(problem?.errors) ? problem.errors : []
  }
}

/** Reads the error of a response whose status is not 2xx. */
export async function errorOf(response: Response): Promise<ResourceError> {
  const text = await response.text()
  const problem = problemOf(response, text)
  return new ResourceError(response.status, problem, problem?.detail ?? messageOf(response, text))
}

/** Reads the problem document of a response. A proxy may respond with another body, or with a part of one. */
function problemOf({ headers }: Response, text: string): Problem | undefined {
  if (!headers.get('Content-Type')?.startsWith('application/problem+json')) return undefined
  try {
    const problem: Partial<Problem> = JSON.parse(text)
    return typeof problem.detail === 'string'
      ? ({ ...problem, type: problem.type ?? 'about:blank' } as Problem)
      : undefined
  } catch {
    return undefined
  }
}

/** Message of a response without a problem document: its text, unless it is empty or an HTML page. */
function messageOf({ status, statusText }: Response, text: string): string {
  return /^\s*(<|$)/.test(text) ? `${status} ${statusText}`.trim() : text.slice(0, 200)
}
