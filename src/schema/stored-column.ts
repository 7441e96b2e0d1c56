import type { DataSource } from 'typeorm'
import type { ValueType } from '../value/value-type'
import { isTemporal, valueTypeOf } from './column-value-type'
import type { ColumnMetadata } from './metadata'

/** A column that statements read, and how to read its values. */
export interface ReadColumn {
  readonly column: ColumnMetadata
  /**
   * The column that determines how TypeORM stores the values: for a foreign key, the column that it refers to, directly
   * or not.
   */
  readonly valueColumn: ColumnMetadata
  /** Undefined for a column type that has no JSON form. */
  readonly valueType: ValueType | undefined
}

/** A column whose values have a JSON form. */
export interface StoredColumn extends ReadColumn {
  readonly valueType: ValueType
  /** Whether the column contains dates or times, which the database can truncate. */
  readonly isTemporal: boolean
}

export function buildReadColumn(column: ColumnMetadata, dataSource: DataSource): ReadColumn {
  const valueColumn = referencedValueColumn(column)
  return { column, valueColumn, valueType: valueTypeOf(valueColumn, dataSource) }
}

/** @returns undefined for a column type that has no JSON form */
export function buildStoredColumn(column: ColumnMetadata, dataSource: DataSource): StoredColumn | undefined {
  const { valueType, ...read } = buildReadColumn(column, dataSource)
  return valueType && { ...read, valueType, isTemporal: isTemporal(read.valueColumn, dataSource) }
}

/**
 * The column that a foreign key refers to. If that column is a foreign key too, the column that it refers to, and so on.
 * Other columns are returned unchanged.
 */
export function referencedValueColumn(column: ColumnMetadata): ColumnMetadata {
  if (column.referencedColumn === undefined) return column
  const followed = new Set<ColumnMetadata>()
  let current = column
  while (current.referencedColumn !== undefined && !followed.has(current)) {
    followed.add(current)
    current = current.referencedColumn
  }
  return current
}
