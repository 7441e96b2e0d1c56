import type { Bind } from '../connection/compile'
import { columnSql, fieldValue, type Row, splitColumnValues, toBindParameter } from '../read/row'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import type { WriteTarget } from './write-store'

/** Binds the key and the owner for the WHERE of an UPDATE or DELETE. @returns their placeholders */
export function bindTarget({ view, dataSource }: Store, target: WriteTarget, bind: Bind): readonly string[] {
  const { key, owner } = view
  const bindColumns = (columns: readonly StoredColumn[], values: readonly unknown[]): readonly string[] =>
    columns.map((stored, index) => bind(toBindParameter(dataSource, stored, values[index])))
  const keyPlaceholders = bindColumns(key.columns, splitColumnValues(key, target.key))
  return owner === undefined ? keyPlaceholders : [...keyPlaceholders, ...bindColumns(owner.columns, [target.owner])]
}

/**
 * WHERE condition of an UPDATE or DELETE: key, owner, and not soft-deleted.
 * @param placeholders from {@link bindTarget}
 */
export function whereTarget({ view, dataSource, dialect }: Store, placeholders: readonly string[]): string {
  const { key, owner, metadata } = view
  const { equalsAny, operandSql } = dialect
  const columns = [...key.columns, ...(owner?.columns ?? [])]
  const deleteDateColumn = metadata.deleteDateColumn
  return [
    ...columns.map((stored, index) =>
      equalsAny(stored, columnSql(dataSource, stored), [operandSql(stored, placeholders[index] ?? '')]),
    ),
    ...(deleteDateColumn === undefined ? [] : [`${dataSource.driver.escape(deleteDateColumn.databaseName)} IS NULL`]),
  ].join(' AND ')
}

/** Whether a row has this owner. True for a resource without owners. */
export function isOwnedBy(view: ResourceView, row: Row, ownerKey: unknown): boolean {
  const { owner } = view
  if (owner === undefined) return true
  const stored = fieldValue(view, row, owner)
  return stored !== null && ownerKey !== null && owner.valueType.toJson(stored) === owner.valueType.toJson(ownerKey)
}
