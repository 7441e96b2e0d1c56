import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import type { WriteTarget } from '../query/query'
import { columnSql, fieldValue, type Row, toParameter, toValues } from '../read/row'
import type { Resource } from '../schema/registry'
import type { StoredColumn } from '../schema/stored-column'

/** Binds the key and the owner that the record must still have when the statement runs. @returns their placeholders */
export function bindTarget(
  dataSource: DataSource,
  { key, owner }: Resource,
  target: WriteTarget,
  bind: Bind,
): readonly string[] {
  const bindColumns = (columns: readonly StoredColumn[], values: readonly unknown[]): readonly string[] =>
    columns.map((stored, index) => bind(toParameter(dataSource, stored, values[index])))
  const ofKey = bindColumns(key.columns, toValues(key, target.key))
  return owner === undefined ? ofKey : [...ofKey, ...bindColumns(owner.columns, [target.owner])]
}

/** @param placeholders of what {@link bindTarget} has bound */
export function whereTarget(
  dataSource: DataSource,
  { key, owner, metadata }: Resource,
  placeholders: readonly string[],
): string {
  const { operand } = dialectOf(dataSource)
  const columns = [...key.columns, ...(owner?.columns ?? [])]
  const deleted = metadata.deleteDateColumn
  return [
    ...columns.map(
      (stored, index) => `${columnSql(dataSource, stored)} = ${operand(stored, placeholders[index] ?? '')}`,
    ),
    ...(deleted === undefined ? [] : [`${dataSource.driver.escape(deleted.databaseName)} IS NULL`]),
  ].join(' AND ')
}

/** Whether a row belongs to whom the target says. */
export function isTarget(resource: Resource, row: Row, target: WriteTarget): boolean {
  const { owner } = resource
  if (owner === undefined) return true
  const stored = fieldValue(resource, row, owner)
  return (
    stored !== null && target.owner !== null && owner.valueType.toJson(stored) === owner.valueType.toJson(target.owner)
  )
}
