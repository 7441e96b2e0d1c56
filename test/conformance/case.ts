import type { SendOptions } from '../client'

/** One request and its expected response. Scenarios undo their own changes. */
export interface Step extends SendOptions {
  /** `GET /api/note/?score=5`; `{id}` is replaced by the `id` in the response to the latest POST of the scenario. */
  readonly request: string
  readonly status: number
  /** The ids of the records of a list, in this order. */
  readonly ids?: readonly (number | string)[]
  /** Properties of the JSON body, which may have others. */
  readonly has?: object
  /** The complete JSON body. */
  readonly json?: unknown
  /** The complete body as text. */
  readonly text?: string
  /** Headers of the response with their complete values; `null` for an absent header. */
  readonly responseHeaders?: Readonly<Record<string, string | null>>
  /** The fields in the `errors` of the problem document, in any order. */
  readonly errorFields?: readonly string[]
  /** Whether the step can only be run where keys are numbers. */
  readonly numericKeys?: true
  /** Texts that the `detail` of the problem document contains. */
  readonly detailParts?: readonly string[]
}

/** The 401 response (specification: Refusal by the access rule), byte for byte. */
export const loginRequired: Pick<Step, 'status' | 'text' | 'responseHeaders'> = {
  status: 401,
  text: 'Authentication failed',
  responseHeaders: {
    'WWW-Authenticate': 'Basic realm="Login Required"',
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': '21',
  },
}

/** One rule of the specification and the steps that check it, in order. */
export interface Scenario {
  /** Headings of docs/specification.md, a colon and the rule: "Repeated parameters: a parameter given twice". */
  readonly rule: string
  readonly steps: readonly Step[]
}

/** Makes one scenario with a single request of each step. */
export function each(rule: string, steps: readonly Step[]): readonly Scenario[] {
  return steps.map((step) => ({
    rule: `${rule}: ${step.request}${step.as ? ` as ${step.as}` : ''}${bodyTitle(step.body)}`,
    steps: [step],
  }))
}

/** Makes a scenario of several steps for one rule. */
export function scenario(rule: string, ...steps: readonly Step[]): Scenario {
  return { rule, steps }
}

function bodyTitle(body: unknown): string {
  if (body === undefined) return ''
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return ` ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`
}
