import type { ResourceView } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { type ErrorStatus, errorResponses } from './responses'
import { type SchemaName, schemaRef } from './schema-names'

/** An Operation Object of OpenAPI. */
export function operation({ name }: ResourceView, id: string, summary: string, rest: JsonSchema): JsonSchema {
  return {
    operationId: `${name}.${id}`,
    summary,
    tags: [name],
    ...rest,
  }
}

/** Error responses of an operation. 401 is added unless the rule makes it public, and 503 always. */
export function errors({ rule }: ResourceView, access: 'read' | 'write', statuses: readonly ErrorStatus[]): JsonSchema {
  const isPublic = access === 'read' && rule.read === 'public'
  return errorResponses([...statuses, ...(isPublic ? [] : [401 as const]), 503])
}

export function stringHeader(description: string): JsonSchema {
  return { description, schema: { type: 'string' } }
}

/** Headers of a response with one record. */
export const etag = { ETag: stringHeader('Strong validator of the record (RFC 9110)') }

export function json(description: string, name: SchemaName): JsonSchema {
  return jsonContent(description, schemaRef(name))
}

export function jsonContent(description: string, schema: JsonSchema): JsonSchema {
  return { description, content: { 'application/json': { schema } } }
}

/** Request body: JSON, or a form with the JSON in its field `data` (specification: Bodies). */
export function body(name: string): JsonSchema {
  const data = { type: 'string', contentMediaType: 'application/json', contentSchema: schemaRef(name) }
  const form = { schema: { type: 'object', properties: { data }, required: ['data'] } }
  return {
    required: true,
    content: {
      'application/json': { schema: schemaRef(name) },
      'application/x-www-form-urlencoded': form,
      'multipart/form-data': form,
    },
  }
}
