import type { DataSource } from 'typeorm'
import { idempotencyMetadata } from '../schema/idempotency-key'
import type { JsonSchema } from '../value/value-type'
import type { Parameter } from './parameters'
import { errorResponses } from './responses'

const parameter: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A random text that the client chooses for this request. If the request is sent again with it, nothing is written, ' +
    'and the response is the same',
  required: false,
  schema: { type: 'string', pattern: '^[!-~]+$', maxLength: 255 },
}

const replayed: JsonSchema = {
  description: 'Present if an earlier request with this Idempotency-Key has written, and this one nothing',
  schema: { type: 'string', const: 'true' },
}

/** Adds the header `Idempotency-Key` to a write, if the service stores responses (specification: Idempotency keys). */
export function withIdempotencyKey(operation: JsonSchema, dataSource: DataSource): JsonSchema {
  if (idempotencyMetadata(dataSource) === undefined) return operation
  const { parameters = [], responses } = operation as {
    readonly parameters?: readonly JsonSchema[]
    readonly responses: Readonly<Record<string, JsonSchema>>
  }
  const described = Object.entries(responses).map(([status, response]): [string, JsonSchema] => {
    const headers = { ...Object(response['headers']), 'Idempotent-Replayed': replayed }
    return [status, status.startsWith('2') ? { ...response, headers } : response]
  })
  return {
    ...operation,
    parameters: [...parameters, parameter],
    responses: { ...Object.fromEntries(described), ...errorResponses([409, 422]) },
  }
}
