import type { JsonSchema } from '../value/value-type'

/** Name of a schema in the components. Names with a dot cannot be those of resources. */
export type SchemaName = string

export const createOf = (name: string): SchemaName => `${name}.create`
export const updateOf = (name: string): SchemaName => `${name}.update`
/** A record with the fields that `fields` selects. */
export const selectedOf = (name: string): SchemaName => `${name}.selected`
/** The members that `include` adds to a record. */
export const includedOf = (name: string): SchemaName => `${name}.included`
/** A page of whole records. */
export const listOf = (name: string): SchemaName => `${name}.list`
/** A page of records with selected fields. */
export const selectedListOf = (name: string): SchemaName => `${name}.selected.list`
/** A page of groups. */
export const groupsOf = (name: string): SchemaName => `${name}.groups`
/** The member `meta` of a page. */
export const metaOf = (name: string): SchemaName => `${name}.meta`

/** Reference to a schema in the components. */
export function schemaRef(name: SchemaName): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}
