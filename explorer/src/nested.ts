import { type Schema, typesOf } from './document'
import type { Field } from './model'

/** Inputs of the related records in a body. */
export interface RowFields {
  /** Fields of a new record; undefined if there can be none. */
  readonly create: readonly Field[] | undefined
  /** Fields of a record that exists, without its own related records; undefined if it cannot be changed. */
  readonly update: readonly Field[] | undefined
}

/** Whether a member of a body contains related records or their keys, which records do not show. */
export function isNested({ schema }: Field): boolean {
  const isList = schema.writeOnly === true && typesOf(schema).includes('array')
  return isList && (schema['x-resource'] !== undefined || membersOf(schema).length > 0)
}

/** Schemas of the records that a member of a body contains; empty if it contains something else. */
function membersOf({ items }: Schema): readonly Schema[] {
  return items === undefined ? [] : [items, ...(items.anyOf ?? [])].filter(({ properties }) => properties !== undefined)
}

/** @param fieldsIn returns the fields of the schema of a record */
export function rowFieldsOf(schema: Schema, fieldsIn: (schema: Schema) => readonly Field[]): RowFields | undefined {
  const members = membersOf(schema)
  if (schema.writeOnly !== true || members.length === 0) return undefined
  const ofParent = schema['x-parent-key'] ?? []
  const find = (isUpdate: boolean): readonly Field[] | undefined => {
    // The key of an existing record selects the record and is read-only. The key of a new record is not.
    const member = members.find(({ properties }) => (properties?.['id']?.readOnly === true) === isUpdate)
    const fields = member && withoutIncluded(fieldsIn(member))
    return fields?.filter(({ name, schema: { readOnly } }) => !readOnly && !ofParent.includes(name))
  }
  return { create: find(false), update: find(true)?.filter((field) => !isNested(field)) }
}

/** Fields without `lines_next` and `lines_total`, which a response adds to `lines` and a body may repeat. */
export function withoutIncluded(fields: readonly Field[]): readonly Field[] {
  const lists = fields.filter(({ rows }) => rows !== undefined)
  const added = new Set(lists.flatMap(({ name }) => [`${name}_next`, `${name}_total`]))
  return fields.filter(({ name }) => !added.has(name))
}
