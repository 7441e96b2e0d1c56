import type { DataSource } from 'typeorm'
import type { ValueType } from '../value/value-type'
import { valueTypeOf } from './column-value-type'
import type { ColumnMetadata } from './metadata'

/** One column of a table, as statements name it and as its values are read. */
export interface ReadColumn {
  readonly column: ColumnMetadata
  /** The column that says how TypeORM stores the values: for a foreign key, the one it refers to in the end. */
  readonly valueColumn: ColumnMetadata
  /** Undefined for a column type that has no JSON form here. */
  readonly valueType: ValueType | undefined
}

/** A column whose values have a JSON form. */
export interface StoredColumn extends ReadColumn {
  readonly valueType: ValueType
}

export function buildReadColumn(column: ColumnMetadata, dataSource: DataSource): ReadColumn {
  const valueColumn = endOfReferences(column)
  return { column, valueColumn, valueType: valueTypeOf(valueColumn, dataSource) }
}

/** @returns undefined for a column type that has no JSON form here */
export function buildStoredColumn(column: ColumnMetadata, dataSource: DataSource): StoredColumn | undefined {
  const { valueType, ...read } = buildReadColumn(column, dataSource)
  return valueType && { ...read, valueType }
}

/** Whether its values are what a query gives, whatever type is declared for them. */
export function isComputed({ isVirtualProperty, entityMetadata }: ColumnMetadata): boolean {
  return isVirtualProperty || entityMetadata.tableType === 'view'
}

/** A foreign key may refer to a key that is a foreign key too. */
export function endOfReferences(column: ColumnMetadata): ColumnMetadata {
  return column.referencedColumn === undefined ? column : endOfReferences(column.referencedColumn)
}
