import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import type { StoredColumn } from '../schema/stored-column'
import type { Json } from '../value/value-type'
import { fromValues, positionsOf, valueReader } from './row'

/** What a row as the driver hands it out shows for a field, without an entity's value in between where that can be spared. */
export const jsonReaderOf = memoize(
  (field: Field, resource: Resource, dataSource: DataSource): ((raw: RawRow) => Json) => {
    const [column, ...others] = field.columns
    const [position = -1] = positionsOf(field, resource)
    if (column !== undefined && others.length === 0) {
      const show = shownColumn(column, field, dataSource)
      return (raw) => show(raw[position])
    }
    const value = storedValueReader(field, resource, dataSource)
    return (raw) => {
      const values = value(raw)
      return values === null ? null : field.valueType.toJson(values)
    }
  },
)

/** What such a row holds for a field: as `fieldValue` says it of one that was read. */
export const storedValueReader = memoize(
  (field: Field, resource: Resource, dataSource: DataSource): ((raw: RawRow) => unknown) => {
    const positions = positionsOf(field, resource)
    const readers = field.columns.map((column) => valueReader(column, dataSource))
    const [read] = readers
    const [position = -1] = positions
    if (read !== undefined && readers.length === 1) return (raw) => read(raw[position]) ?? null
    return (raw) => {
      const values = readers.map((read, index) => read(raw[positions[index] ?? -1]) ?? null)
      return values.includes(null) ? null : fromValues(values)
    }
  },
)

function shownColumn(column: StoredColumn, { valueType }: Field, dataSource: DataSource): (raw: unknown) => Json {
  const read = valueReader(column, dataSource)
  const isPlain = column.valueColumn.transformer === undefined
  const shown = isPlain ? dialectOf(dataSource).shown?.(column, dataSource) : undefined
  const isText = isPlain && valueType.name === 'text'
  const isInteger = isPlain && valueType.name === 'integer'
  const isFlag = isPlain && valueType.name === 'boolean'
  // Most are shown as they are stored.
  return (raw) => {
    if (isText && typeof raw === 'string') return raw
    if (isInteger && typeof raw === 'number' && Number.isSafeInteger(raw)) return raw
    if (isFlag && (raw === 1 || raw === 0)) return raw === 1
    const known = shown?.(raw)
    if (known !== undefined) return known
    const value = read(raw) ?? null
    return value === null ? null : valueType.toJson(value)
  }
}
