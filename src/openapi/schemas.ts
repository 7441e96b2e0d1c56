import { mayBeNull } from '../read/row'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { orNull } from '../value/schema'
import type { JsonSchema } from '../value/value-type'
import { createMembers, updateMembers } from './body-members'
import type { DescribedResource } from './described-resource'
import { describe, readOnly } from './field-schema'
import { includedSchemas } from './list-schemas'
import { type NestedContext, nestedMembers } from './nested-members'
import { closedObject, type Member, objectSchema } from './object'
import { includedRelations } from './references'
import { createOf, includedOf, type SchemaName, schemaRef, selectedOf, updateOf } from './schema-names'

/**
 * Schemas of the records of one resource, and of the bodies of POST and PUT if these are permitted.
 * @param nested describes related records in bodies
 */
export function recordSchemas(
  resource: DescribedResource,
  nested: NestedContext,
): readonly (readonly [SchemaName, JsonSchema])[] {
  const { view, writes } = resource
  const { name, optionalParameters } = view
  const schemas: (readonly [SchemaName, JsonSchema])[] = [[name, recordSchema(resource)], ...includedSchemas(view)]
  if (optionalParameters.has('fields')) schemas.push([selectedOf(name), selectedSchema(view)])
  if (writes.has('create'))
    schemas.push([createOf(name), closedObject([...createMembers(view), ...nestedMembers(view, 'create', nested)])])
  if (writes.has('update'))
    schemas.push([updateOf(name), closedObject([...updateMembers(view), ...nestedMembers(view, 'update', nested)])])
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
