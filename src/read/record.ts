import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { Json } from '../value/value-type'
import { setPath } from './entity'
import { buildJsonRenderer, buildValueReader } from './json-value'
import { fieldValue, positionsOf, type Row, valueAtPositions } from './row'

/** JSON object of one record. Embedded entities are nested objects (specification: Record representation). */
export interface JsonRecord {
  [name: string]: Json | JsonRecord | readonly JsonRecord[]
}

/** Renders the records of a view. */
export interface RecordRenderer<From> {
  readonly toRecord: (from: From) => JsonRecord
  /**
   * Returns the stored values of the shown fields whose JSON may be less exact, such as date-times with a fraction of a
   * second.
   */
  readonly exactValues: (from: From) => readonly unknown[]
}

/** Renders one field of a row as JSON. */
export function renderField(view: ResourceView, row: Row, field: Field): Json {
  return toJson(field, fieldValue(view, row, field))
}

function toJson({ valueType }: Field, value: unknown): Json {
  return value === null ? null : valueType.toJson(value)
}

/** Builds the renderer of records from rows of values, which load listeners may have changed. */
export function buildRowRenderer(view: ResourceView): RecordRenderer<Row> {
  const valueReader = (field: Field): ((row: Row) => unknown) => {
    const positions = positionsOf(field, view)
    return (row) => valueAtPositions(row, positions)
  }
  return buildRecordRenderer(view, valueReader, (field) => {
    const read = valueReader(field)
    return (row) => toJson(field, read(row))
  })
}

/**
 * Builds the renderer of records from raw rows of the driver. The records are the same as from rows of values, with fewer
 * conversions.
 */
export function buildRawRenderer(view: ResourceView, dataSource: DataSource): RecordRenderer<RawRow> {
  return buildRecordRenderer(
    view,
    (field) => buildValueReader(field, view, dataSource),
    (field) => buildJsonRenderer(field, view, dataSource),
  )
}

/**
 * Builds a renderer. Everything that does not depend on the row is computed once here, not for each record of a list.
 */
function buildRecordRenderer<From>(
  { outputFields }: ResourceView,
  valueReaderOf: (field: Field) => (from: From) => unknown,
  rendererOf: (field: Field) => (from: From) => Json,
): RecordRenderer<From> {
  const fields = outputFields.map((field) => ({
    path: field.path.join('.'),
    isTopLevel: field.path.length === 1,
    render: rendererOf(field),
  }))
  const exactReaders = outputFields.filter(mayLosePrecision).map(valueReaderOf)
  return {
    toRecord: (from) => {
      const json: JsonRecord = {}
      for (const { path, isTopLevel, render } of fields) {
        if (isTopLevel) json[path] = render(from)
        else setPath(json, path, render(from))
      }
      return json
    },
    exactValues: (from) => exactReaders.map((read) => read(from)),
  }
}

/** Whether the JSON of a field may be less exact than the stored value. */
function mayLosePrecision({ valueType, columns }: Field): boolean {
  // The members of an array may be date-times.
  if (valueType.upperBound !== undefined || valueType.name === 'array') return true
  return columns.some(({ valueColumn }) => valueColumn.transformer)
}
