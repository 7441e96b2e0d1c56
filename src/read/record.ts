import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import type { Json } from '../value/value-type'
import { setPath } from './entity'
import { jsonRendererOf } from './json-value'
import { fieldValue, positionsOf, type Row, valueAtPositions } from './row'

/** JSON object of one record. Embedded entities are nested objects (specification: Record representation). */
export interface JsonRecord {
  [name: string]: Json | JsonRecord
}

/** Renders one field of a row as JSON. */
export function renderField(resource: Resource, row: Row, field: Field): Json {
  return toJson(field, fieldValue(resource, row, field))
}

function toJson({ valueType }: Field, value: unknown): Json {
  return value === null ? null : valueType.toJson(value)
}

/** Renderer of records from rows of values, which load listeners may have changed. */
export const recordRenderer = memoize((resource: Resource): ((row: Row) => JsonRecord) =>
  buildRecordRenderer(resource, (field) => {
    const positions = positionsOf(field, resource)
    return (row) => toJson(field, valueAtPositions(row, positions))
  }),
)

/** Renderer of records from raw rows of the driver. The result is the same, with fewer conversions. */
export const rawRecordRenderer = memoize((resource: Resource, dataSource: DataSource): ((raw: RawRow) => JsonRecord) =>
  buildRecordRenderer(resource, (field) => jsonRendererOf(field, resource, dataSource)),
)

type Renderer<From> = (from: From) => Json

/**
 * Builds a renderer. Everything that does not depend on the row is computed once here, not for each record of a list.
 */
function buildRecordRenderer<From>(
  { outputFields }: Resource,
  rendererOf: (field: Field) => Renderer<From>,
): (from: From) => JsonRecord {
  const fields = outputFields.map((field) => ({
    path: field.path.join('.'),
    isTopLevel: field.path.length === 1,
    render: rendererOf(field),
  }))
  return (from) => {
    const json: JsonRecord = {}
    for (const { path, isTopLevel, render } of fields) {
      if (isTopLevel) json[path] = render(from)
      else setPath(json, path, render(from))
    }
    return json
  }
}
