import { fieldValue, type Row } from '../query/row'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import type { Json } from '../value/kind'

/** The JSON object of one record, embedded entities as objects in it (spec.md, Record representation). */
export function renderRecord(resource: Resource, row: Row): Readonly<Record<string, Json>> {
  const record: Branch = {}
  for (const field of resource.record) place(record, field.path, renderField(resource, row, field))
  return record
}

/** What a record shows for a field. */
export function renderField(resource: Resource, row: Row, field: Field): Json {
  const value = fieldValue(resource, row, field)
  return value === null ? null : field.kind.toJson(value)
}

interface Branch {
  [name: string]: Json | Branch
}

function place(branch: Branch, [name = '', ...rest]: readonly string[], value: Json): void {
  if (rest.length === 0) {
    branch[name] = value
    return
  }
  const inner = (branch[name] ?? {}) as Branch
  branch[name] = inner
  place(inner, rest, value)
}
