import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import type { Json } from '../value/value-type'
import { joinColumnValues, positionsOf, valueReader } from './row'

/**
 * Builds a function that renders a field of a raw row as JSON. Where possible, it skips the conversion to the value that
 * an entity would hold.
 */
export function buildJsonRenderer(field: Field, view: ResourceView, dataSource: DataSource): (raw: RawRow) => Json {
  const [column, ...others] = field.columns
  const [position = -1] = positionsOf(field, view)
  if (column !== undefined && others.length === 0) {
    const render = columnRenderer(column, field, dataSource)
    return (raw) => render(raw[position])
  }
  const read = buildValueReader(field, view, dataSource)
  return (raw) => {
    const values = read(raw)
    return values === null ? null : field.valueType.toJson(values)
  }
}

/**
 * Builds a function that reads the value of a field from a raw row: the same value that `fieldValue` returns for a row
 * of values.
 */
export function buildValueReader(field: Field, view: ResourceView, dataSource: DataSource): (raw: RawRow) => unknown {
  const positions = positionsOf(field, view)
  const readers = field.columns.map((column) => valueReader(column, dataSource))
  const [read] = readers
  const [position = -1] = positions
  if (read !== undefined && readers.length === 1) return (raw) => read(raw[position]) ?? null
  return (raw) => {
    const values = readers.map((read, index) => read(raw[positions[index] ?? -1]) ?? null)
    return values.includes(null) ? null : joinColumnValues(values)
  }
}

/** Builds a function that renders a value of a column, as selected by `selectSql`, as JSON. */
export function columnRenderer(
  column: StoredColumn,
  { valueType }: Pick<Field, 'valueType'>,
  dataSource: DataSource,
): (raw: unknown) => Json {
  const read = valueReader(column, dataSource)
  const hasNoTransformer = column.valueColumn.transformer === undefined
  const toJsonText = hasNoTransformer ? dialectOf(dataSource).jsonTextReader?.(column, dataSource) : undefined
  const isText = hasNoTransformer && valueType.name === 'text'
  const isInteger = hasNoTransformer && valueType.name === 'integer'
  const isBoolean = hasNoTransformer && valueType.name === 'boolean'
  // Fast path: most values are shown as they are stored.
  return (raw) => {
    if (isText && typeof raw === 'string') return raw
    if (isInteger && typeof raw === 'number' && Number.isSafeInteger(raw)) return raw
    if (isBoolean && (raw === 1 || raw === 0)) return raw === 1
    const jsonText = toJsonText?.(raw)
    if (jsonText !== undefined) return jsonText
    const value = read(raw) ?? null
    return value === null ? null : valueType.toJson(value)
  }
}
