import type { DataSource } from 'typeorm'
import type { ColumnMetadata } from './metadata'
import { jsonPath, type Renaming } from './property'
import { buildStoredColumn, referencedValueColumn } from './stored-column'

/**
 * The reason why a column cannot be a field, as a predicate that follows the column's name; undefined if it can be one.
 */
export function unsupportedReason(
  column: ColumnMetadata,
  dataSource: DataSource,
  rename?: Renaming,
): string | undefined {
  if (column.embeddedMetadata?.isArray)
    return 'is in an array of embedded entities, which has no JSON form here: exclude it'
  const { propertyPath, propertyName } = column.relationMetadata ?? column
  // TypeORM finds the method of Object.prototype, takes it for an SQL expression and calls it.
  if (propertyName in Object.prototype) {
    return 'has the name of a method of Object.prototype: rename the property; { name } keeps the name of its column'
  }
  if (jsonPath(propertyPath, undefined, rename).some((name) => /__|_$/.test(name))) {
    return 'has two underscores in a row or one at its end, which filters use as separators: rename or exclude it'
  }
  if (buildStoredColumn(column, dataSource) !== undefined) return undefined
  const end = referencedValueColumn(column)
  if (!end.type) return 'has no column type: add @Column({ type: … }) next to @ViewColumn, or exclude it'
  const type = `${dataSource.driver.normalizeType(end)}${column.isArray ? '[]' : ''}`
  return `has the column type ${type}, which has no JSON form here: exclude it`
}
