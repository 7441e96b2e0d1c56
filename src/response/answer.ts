import { type ApiError, refusals } from '../errors'

/** What goes back to the client. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Empty for none. */
  readonly body: string
}

const json = 'application/json; charset=utf-8'
const problem = 'application/problem+json; charset=utf-8'

export function answerJson(status: number, value: unknown, headers: Answer['headers'] = {}): Answer {
  return { status, headers: { 'Content-Type': json, ...headers }, body: JSON.stringify(value) }
}

export function answerEmpty(headers: Answer['headers'] = {}): Answer {
  return { status: 204, headers, body: '' }
}

/** The one answer of a refused login, as the specification spells it (spec.md, Authentication, rule 1). */
const loginRequired: Answer = {
  status: 401,
  headers: { 'WWW-Authenticate': 'Basic realm="Login Required"', 'Content-Type': 'text/html; charset=utf-8' },
  body: 'Authentication failed',
}

/** Problem details of RFC 9457 (D5). */
export function answerRefusal({ code, message, faults, headers }: ApiError): Answer {
  if (code === 'unauthorized') return loginRequired
  return answerProblem(refusals[code].status, code, refusals[code].title, message, faults, headers)
}

/** The answer to a fault of ours, which says nothing of it. */
export function answerFault(): Answer {
  return answerProblem(500, 'internal-error', 'Internal server error', 'the server could not answer this request')
}

function answerProblem(
  status: number,
  code: string,
  title: string,
  detail: string,
  faults: ApiError['faults'] = [],
  headers: Answer['headers'] = {},
): Answer {
  const errors = faults.length > 0 ? { errors: faults } : {}
  const body = { type: `urn:typeorm-resources:${code}`, title, status, detail, ...errors }
  return { status, headers: { 'Content-Type': problem, ...headers }, body: JSON.stringify(body) }
}
