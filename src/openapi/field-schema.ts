import { limitsInWords } from '../schema/declared-limits'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { orNull } from '../value/schema'
import type { JsonSchema, ValueType } from '../value/value-type'
import { exampleOf } from './examples'

/** Schema of a value in a body or filter. */
export function writtenSchema({ inputSchema, schema }: ValueType): JsonSchema {
  return inputSchema ?? schema
}

/**
 * Adds to a schema: a description (the column's comment, otherwise its declared limits or the value type's description), an
 * example, and for a foreign key the resource that it refers to.
 */
export function describe(
  view: ResourceView,
  field: Field,
  schema: JsonSchema,
  isNullable: boolean,
  limits: JsonSchema = {},
): JsonSchema {
  const columnComment = field.columns
    .map(({ column }) => column.comment)
    .find((text) => text !== undefined && text !== '')
  const relatedResource = field.relation && view.related(field.relation)
  const example = exampleOf(view.name, field, schema)
  return {
    ...(isNullable ? orNull(schema) : schema),
    description:
      columnComment ??
      (relatedResource
        ? `The id of a ${relatedResource.name}.`
        : sentence(limitsInWords(limits) || field.valueType.description)),
    ...(example !== undefined && { examples: [example] }),
    ...(relatedResource !== undefined && { 'x-resource': relatedResource.name }),
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** Marks a value that bodies may contain, but not change. */
export function readOnly(schema: JsonSchema): JsonSchema {
  return { ...schema, readOnly: true }
}
