import type { SendOptions } from '../client'

/** One request and what must come back. Requests that change something put it back in the same scenario. */
export interface Step extends SendOptions {
  /** `GET /api/note/?score=5`; `{id}` stands for the `id` that the scenario's latest POST answered. */
  readonly request: string
  readonly status: number
  /** The ids of a list's objects, in this order. */
  readonly ids?: readonly (number | string)[]
  /** Properties the JSON body has, among others. */
  readonly has?: object
  /** The whole JSON body. */
  readonly json?: unknown
  /** The whole body as text. */
  readonly text?: string
  /** Headers, whole values, or `null` for absent. */
  readonly answers?: Readonly<Record<string, string | null>>
  /** The fields that the problem's `errors` name, in any order. */
  readonly faults?: readonly string[]
  /** Holds only where keys are numbers. */
  readonly numericKeys?: true
  /** What the problem's `detail` says, among others. */
  readonly says?: readonly string[]
}

/** The 401 of the specification (Refusal by the access rule), byte for byte. */
export const loginRequired: Pick<Step, 'status' | 'text' | 'answers'> = {
  status: 401,
  text: 'Authentication failed',
  answers: {
    'WWW-Authenticate': 'Basic realm="Login Required"',
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': '21',
  },
}

/** One rule of the specification, shown by steps in order. */
export interface Scenario {
  /** Headings of docs/specification.md, and what is shown of them: "Repeated parameters: a parameter given twice". */
  readonly rule: string
  readonly steps: readonly Step[]
}

/** A table of single requests for one rule. */
export function each(rule: string, steps: readonly Step[]): readonly Scenario[] {
  return steps.map((step) => ({
    rule: `${rule}: ${step.request}${step.as ? ` as ${step.as}` : ''}${bodyTitle(step.body)}`,
    steps: [step],
  }))
}

export function scenario(rule: string, ...steps: readonly Step[]): Scenario {
  return { rule, steps }
}

function bodyTitle(body: unknown): string {
  if (body === undefined) return ''
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return ` ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`
}
