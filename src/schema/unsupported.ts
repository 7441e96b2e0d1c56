import type { DataSource } from 'typeorm'
import type { ColumnMetadata } from './metadata'
import { jsonPath, type Renaming } from './property'
import { buildStoredColumn, endOfReferences } from './stored-column'

/** Why a column cannot be in a field, reading on from its name; undefined when it can. */
export function unsupportedReason(
  column: ColumnMetadata,
  dataSource: DataSource,
  rename?: Renaming,
): string | undefined {
  if (column.embeddedMetadata?.isArray)
    return 'is in an array of embedded entities, which has no JSON form here: exclude it'
  const { propertyPath, propertyName } = column.relationMetadata ?? column
  // TypeORM takes the function for an SQL expression, and calls it.
  if (propertyName in Object.prototype) {
    return 'has the name of a function that every object has: call the property something else, with { name } for its column'
  }
  if (jsonPath(propertyPath, undefined, rename).some((name) => /__|_$/.test(name))) {
    return 'has two underscores in a row, or one at its end; these part the names of a filter: rename or exclude it'
  }
  if (buildStoredColumn(column, dataSource) !== undefined) return undefined
  const end = endOfReferences(column)
  if (!end.type) return 'has no column type: give it one, as @Column({ type: … }) beside @ViewColumn, or exclude it'
  const type = `${dataSource.driver.normalizeType(end)}${column.isArray ? '[]' : ''}`
  return `has the column type ${type}, which has no JSON form here: exclude it`
}
