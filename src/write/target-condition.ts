import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import type { WriteTarget } from '../query/query'
import { columnSql, fieldValue, type Row, splitColumnValues, toBindParameter } from '../read/row'
import type { Resource } from '../schema/registry'
import type { StoredColumn } from '../schema/stored-column'

/** Binds the key and the owner for the WHERE of an UPDATE or DELETE. @returns their placeholders */
export function bindTarget(
  dataSource: DataSource,
  { key, owner }: Resource,
  target: WriteTarget,
  bind: Bind,
): readonly string[] {
  const bindColumns = (columns: readonly StoredColumn[], values: readonly unknown[]): readonly string[] =>
    columns.map((stored, index) => bind(toBindParameter(dataSource, stored, values[index])))
  const keyPlaceholders = bindColumns(key.columns, splitColumnValues(key, target.key))
  return owner === undefined ? keyPlaceholders : [...keyPlaceholders, ...bindColumns(owner.columns, [target.owner])]
}

/**
 * WHERE condition of an UPDATE or DELETE: key, owner, and not soft-deleted.
 * @param placeholders from {@link bindTarget}
 */
export function whereTarget(
  dataSource: DataSource,
  { key, owner, metadata }: Resource,
  placeholders: readonly string[],
): string {
  const { equalsAny, operand } = dialectOf(dataSource)
  const columns = [...key.columns, ...(owner?.columns ?? [])]
  const deleteDateColumn = metadata.deleteDateColumn
  return [
    ...columns.map((stored, index) =>
      equalsAny(stored, columnSql(dataSource, stored), [operand(stored, placeholders[index] ?? '')]),
    ),
    ...(deleteDateColumn === undefined ? [] : [`${dataSource.driver.escape(deleteDateColumn.databaseName)} IS NULL`]),
  ].join(' AND ')
}

/** Whether the owner of a row is still the one of the target. */
export function isTarget(resource: Resource, row: Row, target: WriteTarget): boolean {
  const { owner } = resource
  if (owner === undefined) return true
  const stored = fieldValue(resource, row, owner)
  return (
    stored !== null && target.owner !== null && owner.valueType.toJson(stored) === owner.valueType.toJson(target.owner)
  )
}
