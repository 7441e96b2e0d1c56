import { mayBeNull } from '../read/row'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { orNull } from '../value/schema'
import type { Json, JsonSchema, ValueType } from '../value/value-type'
import { defaultOf } from './default-value'
import type { DescribedResource } from './described-resource'
import { exampleOf } from './examples'
import { includedSchemas } from './list-schemas'
import { closedObject, type Member, objectSchema } from './object'
import { includedRelations } from './references'
import { createOf, includedOf, type SchemaName, schemaRef, selectedOf, updateOf } from './schema-names'

/** Schemas of the records of one resource, and of the bodies of POST and PUT if these are permitted. */
export function recordSchemas(resource: DescribedResource): readonly (readonly [SchemaName, JsonSchema])[] {
  const { view, writes } = resource
  const { name, optionalParameters } = view
  const schemas: (readonly [SchemaName, JsonSchema])[] = [[name, recordSchema(resource)], ...includedSchemas(view)]
  if (optionalParameters.has('fields')) schemas.push([selectedOf(name), selectedSchema(view)])
  if (writes.has('create')) schemas.push([createOf(name), createSchema(view)])
  if (writes.has('update')) schemas.push([updateOf(name), updateSchema(view)])
  return schemas
}

/** Schema of a record in responses (specification: Record representation). */
function recordSchema({ view, writes }: DescribedResource): JsonSchema {
  const { outputFields, description, owner, ownerOf } = view
  const isWritable = (field: Field): boolean =>
    field !== owner && ((writes.has('create') && field.insertable) || (writes.has('update') && field.updatable))
  const members = outputFields.map((field): Member => {
    const isNullable = field.columns.some(mayBeNull)
    const schema = describe(view, field, field.valueType.schema, isNullable)
    return { path: field.path, required: true, schema: isWritable(field) ? schema : readOnly(schema) }
  })
  return {
    ...objectSchema(members),
    ...included(view),
    ...(description !== undefined && { description }),
    // Clients compare it with the id of the user.
    ...(owner !== undefined && ownerOf === undefined && outputFields.includes(owner) && { 'x-owner': owner.name }),
  }
}

/** Schema of a record with the fields that the parameter `fields` selects: those of a record, of which only `id` is required. */
function selectedSchema(view: ResourceView): JsonSchema {
  const { outputFields, key } = view
  const members = outputFields.map((field): Member => {
    const { examples, ...schema } = field.valueType.schema
    const isNullable = field.columns.some(mayBeNull)
    return { path: field.path, required: field === key, schema: isNullable ? orNull(schema) : schema }
  })
  return { ...objectSchema(members), ...included(view) }
}

/** Keyword of the schema of a record, to which `include` may add members. */
function included(view: ResourceView): JsonSchema {
  return includedRelations(view).size === 0 ? {} : { allOf: [schemaRef(includedOf(view.name))] }
}

/** Schema of the body of a POST. It includes hidden fields that can be written (specification: Hidden fields). */
function createSchema(view: ResourceView): JsonSchema {
  const { owner, writableFields, outputFields } = view
  const isShown = (field: Field): boolean => outputFields.includes(field)
  // The owner is always set to the principal: a hidden one is left out.
  const members = [...writableFields.values()].filter(
    (field) => field.insertable && (field !== owner || isShown(field)),
  )
  return closedObject(
    members.map((field) => ({
      path: field.path,
      required: field.required && field !== owner,
      schema: inputSchema(view, field, field !== owner, defaultOf(field)),
    })),
  )
}

/**
 * Schema of the body of a PUT. Besides the fields that can be changed, it includes shown read-only fields, which may be
 * sent back as they were read (specification: Sending back what was read).
 */
function updateSchema(view: ResourceView): JsonSchema {
  const { owner, writableFields, outputFields } = view
  const canChange = (field: Field): boolean => field.updatable && field !== owner
  const members = [...writableFields.values()].filter((field) => canChange(field) || outputFields.includes(field))
  return closedObject(
    members.map((field) => ({
      path: field.path,
      required: false,
      schema: inputSchema(view, field, canChange(field)),
    })),
  )
}

function inputSchema(view: ResourceView, field: Field, canChange: boolean, defaultValue?: Json): JsonSchema {
  const schema = describe(view, field, writtenSchema(field.valueType), field.nullable)
  const isHidden = !view.outputFields.includes(field)
  return {
    ...(canChange ? schema : readOnly(schema)),
    ...(isHidden && { writeOnly: true }),
    ...(field.password && { format: 'password' }),
    // Defaults of hidden fields are not revealed: most records still have them.
    ...(defaultValue !== undefined && !isHidden && { default: defaultValue }),
  }
}

/** Schema of a value in a body or filter. */
export function writtenSchema({ inputSchema, schema }: ValueType): JsonSchema {
  return inputSchema ?? schema
}

/**
 * Adds to a schema: a description (the column's comment, otherwise the value type's description), an example, and for a
 * foreign key the resource that it refers to.
 */
function describe(view: ResourceView, field: Field, schema: JsonSchema, isNullable: boolean): JsonSchema {
  const columnComment = field.columns
    .map(({ column }) => column.comment)
    .find((text) => text !== undefined && text !== '')
  const relatedResource = field.relation && view.related(field.relation)
  const example = exampleOf(view.name, field, schema)
  return {
    ...(isNullable ? orNull(schema) : schema),
    description:
      columnComment ??
      (relatedResource ? `The id of a ${relatedResource.name}.` : sentence(field.valueType.description)),
    ...(example !== undefined && { examples: [example] }),
    ...(relatedResource !== undefined && { 'x-resource': relatedResource.name }),
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function readOnly(schema: JsonSchema): JsonSchema {
  return { ...schema, readOnly: true }
}
