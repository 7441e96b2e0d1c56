import { mayBeNull } from '../read/row'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { orNull } from '../value/schema'
import type { Json, JsonSchema, ValueType } from '../value/value-type'
import { defaultOf } from './default-value'
import { exampleOf } from './examples'
import { closedObject, type Member, objectSchema } from './object'

/** The name of a schema among the components. No resource has a point in its name. */
export type SchemaName = string

export const listOf = (name: string): SchemaName => `${name}.list`
export const createOf = (name: string): SchemaName => `${name}.create`
export const updateOf = (name: string): SchemaName => `${name}.update`

/** Refers to a schema among the components. */
export function schemaRef(name: SchemaName): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

/** The schemas of one resource: a record, a page of them, and what a POST and a PUT give where there are any. */
export function resourceSchemas(resource: Resource): readonly (readonly [SchemaName, JsonSchema])[] {
  const { name, writable } = resource
  const schemas: [SchemaName, JsonSchema][] = [
    [name, recordSchema(resource)],
    [listOf(name), listSchema(resource)],
  ]
  if (writable) schemas.push([createOf(name), createSchema(resource)], [updateOf(name), updateSchema(resource)])
  return schemas
}

/** A record as every answer shows it (specification: Record representation). */
function recordSchema(resource: Resource): JsonSchema {
  const { outputFields, description, owner } = resource
  const members = outputFields.map((field): Member => {
    const isNullable = field.columns.some(mayBeNull)
    const schema = describe(resource, field, field.valueType.schema, isNullable)
    return { path: field.path, required: true, schema: isWritable(resource, field) ? schema : readOnly(schema) }
  })
  return {
    ...objectSchema(members),
    ...(description !== undefined && { description }),
    ...(owner !== undefined && outputFields.includes(owner) && { 'x-owner': owner.name }),
  }
}

/** The envelope of a list (specification: Counts). */
function listSchema({ name, optionalParameters }: Resource): JsonSchema {
  const link = 'Path of that page; empty where there is none.'
  const meta = {
    model: { type: 'string', const: name },
    page: { type: 'integer', minimum: 1 },
    next: { type: 'string', description: link },
    previous: { type: 'string', description: link },
  }
  const totals = {
    total: { type: 'integer', minimum: 0, description: 'Records of all pages, with `count`.' },
    total_capped: { type: 'boolean', description: 'Whether there are more than `total`, with `count=capped`.' },
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

/** The body of a POST: what may be given, hidden fields too (specification: Hidden fields), and what must be. */
function createSchema(resource: Resource): JsonSchema {
  const { owner, writableFields, outputFields } = resource
  const isShown = (field: Field): boolean => outputFields.includes(field)
  // A hidden owner is given by nobody.
  const members = [...writableFields.values()].filter(
    (field) => field.insertable && (field !== owner || isShown(field)),
  )
  return closedObject(
    members.map((field) => ({
      path: field.path,
      required: field.required && field !== owner,
      schema: inputSchema(resource, field, field !== owner, defaultOf(field)),
    })),
  )
}

/**
 * The body of a PUT: some of the fields that can be changed. Of the others those that are shown may be sent back as they were read (specification: Sending back what was read).
 */
function updateSchema(resource: Resource): JsonSchema {
  const { owner, writableFields, outputFields } = resource
  const isOpen = (field: Field): boolean => field.updatable && field !== owner
  const members = [...writableFields.values()].filter((field) => isOpen(field) || outputFields.includes(field))
  return closedObject(
    members.map((field) => ({
      path: field.path,
      required: false,
      schema: inputSchema(resource, field, isOpen(field)),
    })),
  )
}

function isWritable({ writable, owner }: Resource, field: Field): boolean {
  return writable && field !== owner && (field.insertable || field.updatable)
}

function inputSchema(resource: Resource, field: Field, isOpen: boolean, initial?: Json): JsonSchema {
  const schema = describe(resource, field, writtenSchema(field.valueType), field.nullable)
  const isHidden = !resource.outputFields.includes(field)
  return {
    ...(isOpen ? schema : readOnly(schema)),
    ...(isHidden && { writeOnly: true }),
    ...(field.password && { format: 'password' }),
    // What a hidden field begins with, it mostly still holds.
    ...(initial !== undefined && !isHidden && { default: initial }),
  }
}

/** What a body or a filter gives for a value. */
export function writtenSchema({ inputSchema, schema }: ValueType): JsonSchema {
  return inputSchema ?? schema
}

/** Says of a value what the application says of its column, or else what its kind is; where it leads, and an example. */
function describe(resource: Resource, field: Field, schema: JsonSchema, isNullable: boolean): JsonSchema {
  const comment = field.columns.map(({ column }) => column.comment).find((text) => text !== undefined && text !== '')
  const related = field.relation && resource.related(field.relation)
  const example = exampleOf(resource.name, field, schema)
  return {
    ...(isNullable ? orNull(schema) : schema),
    description: comment ?? (related ? `The id of a ${related.name}.` : sentence(field.valueType.description)),
    ...(example !== undefined && { examples: [example] }),
    ...(related !== undefined && { 'x-resource': related.name }),
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function readOnly(schema: JsonSchema): JsonSchema {
  return { ...schema, readOnly: true }
}
