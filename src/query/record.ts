import type { DataSource } from 'typeorm'
import type { Field } from '../schema/field'
import { onceFor } from '../schema/once-for'
import type { Resource } from '../schema/registry'
import type { Json } from '../value/kind'
import { fieldValue, type Row } from './row'
import { shownOf } from './shown'
import type { RawRow } from './statement'

/** The JSON object of one record, embedded entities as objects in it (spec.md, Record representation). */
export interface JsonRecord {
  [name: string]: Json | JsonRecord
}

/** What a record shows for a field. */
export function renderField(resource: Resource, row: Row, field: Field): Json {
  const value = fieldValue(resource, row, field)
  return value === null ? null : field.kind.toJson(value)
}

/** Of a row, as listeners may have left it. */
export const recordOfRow = onceFor((resource: Resource): ((row: Row) => JsonRecord) =>
  buildRender(resource, (field) => (row) => renderField(resource, row, field)),
)

/** Of a row as the driver hands it out: the same, by less work. */
export const recordOfRaw = onceFor((resource: Resource, dataSource: DataSource): ((raw: RawRow) => JsonRecord) =>
  buildRender(resource, (field) => shownOf(field, resource, dataSource)),
)

type Show<From> = (from: From) => Json

/** Looks everything up once, since a list does it for each of its records. */
function buildRender<From>({ record }: Resource, showOf: (field: Field) => Show<From>): (from: From) => JsonRecord {
  const fields = record.map((field) => {
    const [name = '', ...inner] = field.path
    return { name, inner, show: showOf(field) }
  })
  return (from) => {
    const json: JsonRecord = {}
    for (const { name, inner, show } of fields) {
      if (inner.length === 0) json[name] = show(from)
      else place(json, [name, ...inner], show(from))
    }
    return json
  }
}

function place(branch: JsonRecord, [name = '', ...rest]: readonly string[], value: Json): void {
  if (rest.length === 0) {
    branch[name] = value
    return
  }
  const inner = (branch[name] ?? {}) as JsonRecord
  branch[name] = inner
  place(inner, rest, value)
}
