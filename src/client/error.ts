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
    this.errors = problem?.errors ?? []
  }
}

/** Reads what an answer that is no success says. */
export async function errorOf(response: Response): Promise<ResourceError> {
  const text = await response.text()
  const problem = isProblem(response) ? (JSON.parse(text) as Problem) : undefined
  return new ResourceError(response.status, problem, problem?.detail ?? (text.slice(0, 200) || response.statusText))
}

function isProblem({ headers }: Response): boolean {
  return headers.get('Content-Type')?.startsWith('application/problem+json') === true
}
