import type { ResourceView } from '../schema/resource-view'
import type { Parameter } from './parameters'

/** `If-Match` header of reads and writes (RFC 9110). */
export function ifMatchParameter(required: boolean): Parameter {
  return header('If-Match', 'The request succeeds only if the record still has this ETag', required)
}

/** `If-None-Match` header of items and lists (RFC 9110). */
export const ifNoneMatchParameter = header(
  'If-None-Match',
  'The response has a body only if it has another ETag',
  false,
)

/** Path parameter `id` of an item. */
export function idParameter({ key }: ResourceView): Parameter {
  const { minimum, ...schema } = key.valueType.schema
  const lowerBound = minimum === undefined ? {} : { minimum: 1 }
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the record',
    schema: { ...schema, ...lowerBound },
  }
}

/** A header of a request. */
export function header(name: string, description: string, required: boolean): Parameter {
  return { name, in: 'header', description, required, schema: { type: 'string' } }
}
