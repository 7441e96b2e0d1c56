import type { Bind } from '../connection/compile'
import { columnSql, fieldValue, type Row, splitColumnValues, toBindParameter } from '../read/row'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import { isSameValue } from '../value/value-type'
import { equalsAnyKey } from './key-predicate'
import type { WriteTarget, WriteTargets } from './write-store'

/** Placeholders of the values in the WHERE of an UPDATE or DELETE. */
export interface TargetPlaceholders {
  /** Placeholders of each key, by column. */
  readonly keys: readonly (readonly string[])[]
  /** Placeholders of the owner; empty for a resource without owners. */
  readonly owner: readonly string[]
}

/** Binds the key and the owner for the WHERE of an UPDATE or DELETE. */
export function bindTarget(store: Store, { key, owner }: WriteTarget, bind: Bind): TargetPlaceholders {
  return bindTargets(store, { keys: [key], owner }, bind)
}

/** Binds the keys of several records and the owner for the WHERE of an UPDATE or DELETE. */
export function bindTargets({ view, dataSource }: Store, targets: WriteTargets, bind: Bind): TargetPlaceholders {
  const { key, owner } = view
  const bindColumns = (columns: readonly StoredColumn[], values: readonly unknown[]): readonly string[] =>
    columns.map((stored, index) => bind(toBindParameter(dataSource, stored, values[index])))
  return {
    keys: targets.keys.map((one) => bindColumns(key.columns, splitColumnValues(key, one))),
    owner: owner === undefined ? [] : bindColumns(owner.columns, [targets.owner]),
  }
}

/**
 * WHERE condition of an UPDATE or DELETE of one record: key, owner, and not soft-deleted.
 * @param isDeleted whether the record is soft-deleted instead
 */
export function whereTarget(store: Store, { keys: [key = []], owner }: TargetPlaceholders, isDeleted = false): string {
  const { columns } = store.view.key
  return allOf([...equalColumns(store, columns, key), ...otherConditions(store, owner, isDeleted)])
}

/** WHERE condition of an UPDATE or DELETE of several records: keys, owner, and not soft-deleted. */
export function whereTargets(store: Store, { keys, owner }: TargetPlaceholders): string {
  const { view, dataSource, dialect } = store
  const { columns } = view.key
  const operands = keys.map((key) => columns.map((stored, index) => dialect.operandSql(stored, key[index] ?? '')))
  const names = columns.map((stored) => columnSql(dataSource, stored))
  return allOf([equalsAnyKey(dialect, columns, names, operands), ...otherConditions(store, owner)])
}

const allOf = (conditions: readonly string[]): string => conditions.join(' AND ')

function equalColumns(
  { dataSource, dialect }: Store,
  columns: readonly StoredColumn[],
  placeholders: readonly string[],
): readonly string[] {
  const { equalsAny, operandSql } = dialect
  return columns.map((stored, index) =>
    equalsAny(stored, columnSql(dataSource, stored), [operandSql(stored, placeholders[index] ?? '')]),
  )
}

/** The conditions besides the key. */
function otherConditions(store: Store, owner: readonly string[], isDeleted = false): readonly string[] {
  const { view, dataSource } = store
  const { deleteDateColumn } = view.metadata
  return [
    ...equalColumns(store, view.owner?.columns ?? [], owner),
    ...(deleteDateColumn === undefined
      ? []
      : [`${dataSource.driver.escape(deleteDateColumn.databaseName)} IS ${isDeleted ? 'NOT ' : ''}NULL`]),
  ]
}

/** Whether a row has this owner. True for a resource without owners. */
export function isOwnedBy(view: ResourceView, row: Row, ownerKey: unknown): boolean {
  const { owner } = view
  if (owner === undefined) return true
  return isSameValue(owner.valueType, fieldValue(view, row, owner), ownerKey)
}
