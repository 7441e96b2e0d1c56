import { refusals } from '../errors'
import type { JsonSchema } from '../value/value-type'
import { schemaRef } from './schemas'

/** The statuses of refusals. */
export type ErrorStatus = (typeof refusals)[keyof typeof refusals]['status']

/** Refers to the answers of refusals. */
export function errorResponses(statuses: readonly ErrorStatus[]): JsonSchema {
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]))
}

/** What operations refer to, by status. @param used statuses, those of successes too */
export function responsesOf(used: ReadonlySet<string>): JsonSchema {
  const statuses = [...new Set(Object.values(refusals).map(({ status }) => status))]
  const refused = statuses.filter((status) => used.has(String(status)))
  return Object.fromEntries(refused.map((status) => [status, response(status)]))
}

function response(status: ErrorStatus): JsonSchema {
  const titles = Object.values(refusals)
    .filter((refusal) => refusal.status === status)
    .map(({ title }) => title)
  const description = titles.join('; ')
  if (status === 401) return { description, ...loginRequired }
  const retry = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer' } } }
  return {
    description,
    ...(status === 503 && { headers: retry }),
    content: { 'application/problem+json': { schema: schemaRef('Problem') } },
  }
}

/** The one answer of a refused login (specification: Refusal by the access rule). */
const loginRequired: JsonSchema = {
  headers: { 'WWW-Authenticate': { schema: { type: 'string', examples: ['Basic realm="Login Required"'] } } },
  content: { 'text/html': { schema: { type: 'string', const: 'Authentication failed' } } },
}

/** RFC 9457 (specification: Error documents). Resources are named in small letters. */
export const problemSchema: JsonSchema = {
  type: 'object',
  properties: {
    type: { type: 'string', examples: ['urn:typeorm-resources:bad-values'] },
    title: { type: 'string', examples: [refusals['bad-values'].title] },
    status: { type: 'integer', examples: [400] },
    detail: { type: 'string', examples: ['score must be an integer from 1 to 5'] },
    errors: {
      type: 'array',
      description: 'Every fault of the request.',
      items: {
        type: 'object',
        properties: { field: { type: 'string' }, message: { type: 'string' } },
        required: ['field', 'message'],
        examples: [{ field: 'score', message: 'must be an integer from 1 to 5' }],
      },
    },
  },
  required: ['type', 'title', 'status', 'detail'],
}
