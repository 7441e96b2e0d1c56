import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import type { Json } from '../value/value-type'
import { setPath } from './entity'
import { jsonReaderOf } from './json-value'
import { fieldValue, positionsOf, type Row, valueAt } from './row'

/** The JSON object of one record, embedded entities as objects in it (specification: Record representation). */
export interface JsonRecord {
  [name: string]: Json | JsonRecord
}

/** What a record shows for a field. */
export function renderField(resource: Resource, row: Row, field: Field): Json {
  return toJson(field, fieldValue(resource, row, field))
}

function toJson({ valueType }: Field, value: unknown): Json {
  return value === null ? null : valueType.toJson(value)
}

/** Of a row, as listeners may have left it. */
export const recordOfRow = memoize((resource: Resource): ((row: Row) => JsonRecord) =>
  buildRender(resource, (field) => {
    const positions = positionsOf(field, resource)
    return (row) => toJson(field, valueAt(row, positions))
  }),
)

/** Of a row as the driver hands it out: the same, by less work. */
export const recordOfRaw = memoize((resource: Resource, dataSource: DataSource): ((raw: RawRow) => JsonRecord) =>
  buildRender(resource, (field) => jsonReaderOf(field, resource, dataSource)),
)

type Show<From> = (from: From) => Json

/** Looks everything up once, since a list does it for each of its records. */
function buildRender<From>(
  { outputFields }: Resource,
  showOf: (field: Field) => Show<From>,
): (from: From) => JsonRecord {
  const fields = outputFields.map((field) => ({
    path: field.path.join('.'),
    isOwn: field.path.length === 1,
    show: showOf(field),
  }))
  return (from) => {
    const json: JsonRecord = {}
    for (const { path, isOwn, show } of fields) {
      if (isOwn) json[path] = show(from)
      else setPath(json, path, show(from))
    }
    return json
  }
}
