import { mayBeNull } from '../read/row'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { orNull } from '../value/schema'
import type { Json, JsonSchema, ValueType } from '../value/value-type'
import { defaultOf } from './default-value'
import type { DescribedResource } from './described-resource'
import { exampleOf } from './examples'
import { closedObject, type Member, objectSchema } from './object'

/** Name of a schema in the components. Names with a dot cannot be those of resources. */
export type SchemaName = string

export const listOf = (name: string): SchemaName => `${name}.list`
export const createOf = (name: string): SchemaName => `${name}.create`
export const updateOf = (name: string): SchemaName => `${name}.update`

/** Reference to a schema in the components. */
export function schemaRef(name: SchemaName): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

/** Schemas of one resource: a record, a page, and the bodies of POST and PUT if these are permitted. */
export function resourceSchemas(resource: DescribedResource): readonly (readonly [SchemaName, JsonSchema])[] {
  const { view, writes } = resource
  const { name } = view
  const schemas: [SchemaName, JsonSchema][] = [
    [name, recordSchema(resource)],
    [listOf(name), listSchema(view)],
  ]
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
    ...(description !== undefined && { description }),
    // Clients compare it with the id of the user.
    ...(owner !== undefined && ownerOf === undefined && outputFields.includes(owner) && { 'x-owner': owner.name }),
  }
}

/** Schema of a list's envelope (specification: Collection envelope, Counts). */
function listSchema({ name, optionalParameters }: ResourceView): JsonSchema {
  const link = 'Path of that page; empty if there is none.'
  const meta = {
    model: { type: 'string', const: name },
    page: { type: 'integer', minimum: 1 },
    next: { type: 'string', description: link },
    previous: { type: 'string', description: link },
  }
  const totals = {
    total: { type: 'integer', minimum: 0, description: 'Number of records on all pages; only with `count`.' },
    total_capped: {
      type: 'boolean',
      description: 'Whether there are more records than `total`; only with `count=capped`.',
    },
  }
  const counts = optionalParameters.has('count')
  return {
    type: 'object',
    properties: {
      meta: {
        type: 'object',
        properties: { ...meta, ...(counts && totals) },
        required: Object.keys(meta),
      },
      objects: { type: 'array', items: schemaRef(name) },
    },
    required: ['meta', 'objects'],
  }
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
