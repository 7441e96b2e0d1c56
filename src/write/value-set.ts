import type { DataSource, ObjectLiteral } from 'typeorm'
import type { Bind } from '../connection/compile'
import { type ColumnValue, setPath } from '../read/entity'
import type { Store } from '../read/store'
import { type ColumnMetadata, entityValue } from '../schema/metadata'
import { referencedValueColumn } from '../schema/stored-column'
import type { InsertTarget } from './insert-target'

/** Argument of TypeORM's `values()` or `set()`, and its part of the statement's cache key. */
export interface ValueSet {
  readonly toSet: () => ObjectLiteral
  /** Cache key: the column names. Undefined if the SQL depends on the values and cannot be cached. */
  readonly shape: string | undefined
}

/**
 * Binds values that are given by column, and returns them by property path. A foreign key is set through the property
 * of its relation.
 * @param statement determines what happens if a transformer returns `undefined`. UPDATE sets NULL, like TypeORM. INSERT
 * sets NULL only if the value is `null` and the column is nullable; otherwise it omits the column, so that its default
 * applies
 */
export function toValueSet(
  { dataSource, dialect }: Pick<Store, 'dataSource' | 'dialect'>,
  values: readonly ColumnValue[],
  bind: Bind,
  statement: 'insert' | 'update',
): ValueSet {
  const columns: ColumnMetadata[] = []
  /** Placeholders, and values that cannot be bound, by the index of their column. */
  const members: (string | { readonly unbound: unknown })[] = []
  const { toStoredValue, assignmentSql } = dialect
  let shape: string | undefined = ''
  for (const [column, value] of values) {
    const stored = toStored(dataSource, column, value)
    if (stored === undefined && statement === 'insert' && (value !== null || !column.isNullable)) continue
    if (stored === undefined || isBindable(dataSource, column, stored)) {
      members.push(bind(stored === undefined ? null : toStoredValue(column, stored)))
      if (shape !== undefined) shape += `\n${column.databaseName}`
    } else {
      members.push({ unbound: value })
      shape = undefined
    }
    columns.push(column)
  }
  const toSet = (): ObjectLiteral => {
    const set = {}
    for (const [index, member] of members.entries()) {
      const column = columns[index] as ColumnMetadata
      const value = typeof member === 'string' ? () => assignmentSql(column, member) : member.unbound
      setPath(set, pathOf(column, columns), value)
    }
    return set
  }
  return { toSet, shape }
}

/** Converts the value of an entity into the one that the database stores. */
function toStored({ driver }: DataSource, column: ColumnMetadata, value: unknown): unknown {
  if (typeof value === 'function') return value
  const keyColumn = referencedValueColumn(column)
  // TypeORM does not apply the transformer of a referenced key to the foreign key. It is not called for null, because
  // it is written for a key, which is never null.
  const usesKeyTransformer =
    keyColumn !== column && keyColumn.transformer !== undefined && column.transformer === undefined && value !== null
  return driver.preparePersistentValue(
    usesKeyTransformer ? driver.preparePersistentValue(value, keyColumn) : value,
    column,
  )
}

/**
 * Whether the SQL of the value is a plain placeholder. It is not if TypeORM wraps it in an SQL function, as `jsonb` on SQLite, or
 * if a listener has set a function that returns SQL.
 */
function isBindable({ driver }: DataSource, { type }: ColumnMetadata, value: unknown): boolean {
  const isWrapped = driver.spatialTypes.includes(type) || (type === 'jsonb' && driver.options.type !== 'postgres')
  return typeof value !== 'function' && !isWrapped
}

/**
 * Path of the property that TypeORM reads for a column. A foreign key may refer to a key in an embedded entity. If the relation
 * is set for another column, TypeORM reads a column from it although the entity declares the column.
 * @param columns the columns that are set
 */
function pathOf(column: ColumnMetadata, columns: readonly ColumnMetadata[]): string {
  const { relationMetadata: relation, referencedColumn } = column
  const isInRelation = columns.some((other) => other.isVirtual && other.relationMetadata === relation)
  if (relation === undefined || referencedColumn === undefined || !isInRelation) return column.propertyPath
  const { embeddedMetadata, propertyName } = referencedColumn
  if (relation.joinColumns.length === 1 && embeddedMetadata === undefined) return column.propertyPath
  return [relation.propertyPath, ...(embeddedMetadata?.parentPropertyNames ?? []), propertyName].join('.')
}

/**
 * SQL of column defaults that are functions, for an INSERT on SQLite, which does not support `DEFAULT` in VALUES. The
 * functions are called for each INSERT, because they may return different SQL each time.
 */
export function explicitDefaults(
  { view, dataSource, dialect }: InsertTarget,
  entity: ObjectLiteral,
): readonly (readonly [ColumnMetadata, string])[] {
  if (!dialect.needsDefaultExpressions) return []
  return view.metadata.columns
    .filter((column) => typeof column.default === 'function' && column.isInsert)
    .filter((column) => entityValue(column, entity) === undefined)
    .map((column) => [column, String(dataSource.driver.normalizeDefault(column))])
}

/**
 * Columns with `ON UPDATE` and its SQL, such as `CURRENT_TIMESTAMP`. The database applies it only if an UPDATE changes
 * the row, so every UPDATE sets these columns explicitly: otherwise an unchanged column would reveal that a hidden
 * value has been guessed.
 */
export function explicitOnUpdates(
  { view, dialect }: Store,
  changed: readonly ColumnValue[],
): readonly (readonly [ColumnMetadata, string])[] {
  if (!dialect.hasOnUpdate) return []
  const { columns, updateDateColumn } = view.metadata
  const isChanged = (column: ColumnMetadata): boolean => changed.some(([changedColumn]) => changedColumn === column)
  return columns
    .filter((column) => column.isUpdate && column !== updateDateColumn && !isChanged(column))
    .flatMap((column) => (column.onUpdate === undefined ? [] : [[column, column.onUpdate] as const]))
}
