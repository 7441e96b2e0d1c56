import { refusals } from '../errors'
import type { JsonSchema } from '../value/value-type'
import { schemaRef } from './schema-names'

/** Status of a refusal. */
export type ErrorStatus = (typeof refusals)[keyof typeof refusals]['status']

/** Response Objects of errors, as references to the components. */
export function errorResponses(statuses: readonly ErrorStatus[]): JsonSchema {
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]))
}

/**
 * Responses of the components, by status.
 * @param usedStatuses statuses of all operations, including those of success
 */
export function responsesOf(usedStatuses: ReadonlySet<string>): JsonSchema {
  const statuses = [...new Set(Object.values(refusals).map(({ status }) => status))]
  const errorStatuses = statuses.filter((status) => usedStatuses.has(String(status)))
  return Object.fromEntries(errorStatuses.map((status) => [status, response(status)]))
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
    ...((status === 429 || status === 503) && { headers: retry }),
    content: { 'application/problem+json': { schema: schemaRef('Problem') } },
  }
}

/** Response of the access rule (specification: Refusal by the access rule). */
const loginRequired: JsonSchema = {
  headers: { 'WWW-Authenticate': { description: 'One line for each scheme (RFC 9110)', schema: { type: 'string' } } },
  content: { 'text/html': { schema: { type: 'string', const: 'Authentication failed' } } },
}

/**
 * Problem document of RFC 9457 (specification: Error documents). Its schema name `Problem` cannot be a resource's,
 * because these are lower case.
 */
export const problemSchema: JsonSchema = {
  type: 'object',
  properties: {
    type: {
      type: 'string',
      description: 'The kind of the error; "about:blank" if the status says all.',
      examples: ['urn:typeorm-resources:bad-values'],
    },
    title: { type: 'string', examples: [refusals['bad-values'].title] },
    status: { type: 'integer', examples: [400] },
    detail: { type: 'string', examples: ['score must be an integer from 1 to 5'] },
    errors: {
      type: 'array',
      description: 'All errors of the request.',
      items: {
        type: 'object',
        properties: {
          index: { type: 'integer', description: 'Index of the record in an array of the body, from 0.' },
          line: { type: 'integer', description: 'Line of the record in an import, from 1.' },
          field: { type: 'string', description: 'Empty for an error of the whole record.' },
          message: { type: 'string' },
        },
        required: ['field', 'message'],
        examples: [{ field: 'score', message: 'must be an integer from 1 to 5' }],
      },
    },
  },
  required: ['type', 'title', 'status', 'detail'],
}
