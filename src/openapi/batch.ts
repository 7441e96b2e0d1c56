import type { DataSource } from 'typeorm'
import type { JsonSchema } from '../value/value-type'
import { withIdempotencyKey } from './idempotency'
import type { DescribedLogin, PathItem } from './operations'
import { errorResponses } from './responses'

/**
 * Path item of the page that runs several writes in one transaction. Which credentials it needs depends on the operations.
 * @param maxOperations maximum number of operations in a batch
 */
export function batchPath(
  maxOperations: number,
  { schemes, isLimited }: DescribedLogin,
  dataSource: DataSource,
): readonly [string, PathItem] {
  const post: JsonSchema = {
    operationId: 'batch',
    summary: 'Run several writes in one transaction',
    description:
      'The operations run in order, each under its own rules. If one is refused, nothing is written, and the response is ' +
      'its refusal with its `index`. In a body, `{ "$ref": "0.id" }` stands for a member of the result of an earlier ' +
      'operation.',
    security: [{}, ...schemes.map((name): JsonSchema => ({ [name]: [] }))],
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: { type: 'array', minItems: 1, maxItems: maxOperations, items: operation } },
      },
    },
    responses: {
      '200': {
        description: 'The results of all operations, in their order',
        content: { 'application/json': { schema: results } },
      },
      ...errorResponses([400, 401, 403, 404, 405, 409, 412, 413, 415, 428, ...(isLimited ? [429 as const] : []), 503]),
    },
  }
  return ['/-/batch', { post: withIdempotencyKey(post, dataSource) }]
}

const operation: JsonSchema = {
  type: 'object',
  properties: {
    method: { type: 'string', enum: ['POST', 'PUT', 'PATCH', 'DELETE'] },
    path: {
      type: 'string',
      description: 'Path of a resource or of a record with the path of the server, and the query string.',
    },
    body: { type: ['object', 'array'], description: 'Body of the operation.' },
    headers: {
      type: 'object',
      properties: { 'If-Match': { type: 'string' }, 'If-None-Match': { type: 'string' } },
      additionalProperties: false,
    },
  },
  required: ['method', 'path'],
  additionalProperties: false,
}

const results: JsonSchema = {
  type: 'object',
  properties: {
    results: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          status: { type: 'integer' },
          headers: {
            type: 'object',
            properties: {
              Location: { type: 'string' },
              'Content-Location': { type: 'string' },
              ETag: { type: 'string' },
            },
            additionalProperties: false,
          },
          body: { type: ['object', 'null'], description: 'Body of the response; null if it has none.' },
        },
        required: ['status', 'headers', 'body'],
      },
    },
  },
  required: ['results'],
}

/** Adds to the schema of problem documents the index that the refusal of a batch has. */
export function withOperationIndex(problem: JsonSchema): JsonSchema {
  const index = { type: 'integer', minimum: 0, description: 'The index of the refused operation of a batch.' }
  return { ...problem, properties: { ...Object(problem['properties']), index } }
}
