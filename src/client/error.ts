/** The problem document of a refusal (RFC 9457). */
export interface Problem {
  /** `urn:typeorm-resources:bad-values` */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly errors?: readonly FieldError[]
}

/** What is wrong with one field or parameter; `message` reads on from the name. */
export interface FieldError {
  readonly field: string
  readonly message: string
}

/** An answer that is no success. */
export class ResourceError extends Error {
  override readonly name = 'ResourceError'
  /** Every fault of the values or of the query; empty for other refusals. */
  readonly errors: readonly FieldError[]
  constructor(
    readonly status: number,
    /** Undefined for what is none: the 401 of a login, and answers of others on the way. */
    readonly problem: Problem | undefined,
    message: string,
  ) {
    super(message)
    this.errors = Array.isArray(problem?.errors) ? problem.errors : []
  }
}

/** Reads what an answer that is no success says. */
export async function errorOf(response: Response): Promise<ResourceError> {
  const text = await response.text()
  const problem = problemOf(response, text)
  return new ResourceError(response.status, problem, problem?.detail ?? messageOf(response, text))
}

/** A gateway between may answer in its own way, and break off. */
function problemOf({ headers }: Response, text: string): Problem | undefined {
  if (!headers.get('Content-Type')?.startsWith('application/problem+json')) return undefined
  try {
    const problem: Partial<Problem> = JSON.parse(text)
    return typeof problem.detail === 'string' ? (problem as Problem) : undefined
  } catch {
    return undefined
  }
}

/** The plain text of a 401, but not the page of a proxy. */
function messageOf({ status, statusText }: Response, text: string): string {
  return /^\s*(<|$)/.test(text) ? `${status} ${statusText}`.trim() : text.slice(0, 200)
}
