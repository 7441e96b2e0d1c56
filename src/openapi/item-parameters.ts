import type { Resource } from '../schema/registry'
import type { Parameter } from './parameters'

/** The `If-Match` of a write and of a read (RFC 9110). */
export function ifMatchParameter(required: boolean): Parameter {
  return header('If-Match', 'Only where the record still has this ETag', required)
}

export const ifNoneMatchParameter = header('If-None-Match', 'Only where the record has another ETag', false)

/** The `id` of an item path. */
export function idParameter({ key }: Resource): Parameter {
  const { minimum, ...schema } = key.valueType.schema
  const least = minimum === undefined ? {} : { minimum: 1 }
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the record',
    schema: { ...schema, ...least },
  }
}

function header(name: string, description: string, required: boolean): Parameter {
  return { name, in: 'header', description, required, schema: { type: 'string' } }
}
