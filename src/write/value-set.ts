import type { DataSource, EntityMetadata, ObjectLiteral } from 'typeorm'
import type { Bind } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import { type ColumnValue, setPath } from '../read/entity'
import { memoize } from '../schema/memoize'
import type { ColumnMetadata } from '../schema/metadata'
import { referencedValueColumn } from '../schema/stored-column'

/** Argument of TypeORM's `values()` and `set()`, and the part of the statement's cache key for it. */
export interface ValueSet {
  readonly toSet: () => ObjectLiteral
  /** Names of the columns; undefined if the SQL depends on the values, so that the statement cannot be cached. */
  readonly shape: string | undefined
}

/**
 * Binds values by column and returns them by property. A foreign key is set as the value of its relation.
 * @param statement decides about values that a transformer converts to `undefined`: an UPDATE sets NULL, as TypeORM's
 * does. An INSERT sets NULL only if the value is `null` and the column accepts it; otherwise the column's default
 * applies
 */
export function toValueSet(
  dataSource: DataSource,
  values: readonly ColumnValue[],
  bind: Bind,
  statement: 'insert' | 'update',
): ValueSet {
  const members: [column: ColumnMetadata, member: unknown][] = []
  const { written, assigned } = dialectOf(dataSource)
  let shape: string | undefined = ''
  for (const [column, value] of values) {
    const stored = toStored(dataSource, column, value)
    if (stored === undefined && statement === 'insert' && (value !== null || !column.isNullable)) continue
    if (stored === undefined || isBindable(dataSource, column, stored)) {
      const name = bind(stored === undefined ? null : written(column, stored))
      members.push([column, () => assigned(column, name)])
      if (shape !== undefined) shape += `\n${column.databaseName}`
    } else {
      members.push([column, value])
      shape = undefined
    }
  }
  const toSet = (): ObjectLiteral => {
    const set = {}
    for (const [column, member] of members) setPath(set, pathOf(column), member)
    return set
  }
  return { toSet, shape }
}

/** Converts the value of an entity into the one that the database stores. */
function toStored({ driver }: DataSource, column: ColumnMetadata, value: unknown): unknown {
  if (typeof value === 'function') return value
  const keyColumn = referencedValueColumn(column)
  // TypeORM does not apply the transformer of the key to a foreign key. The transformer need not accept null: keys are
  // never null.
  const usesKeyTransformer =
    keyColumn !== column && keyColumn.transformer !== undefined && column.transformer === undefined && value !== null
  return driver.preparePersistentValue(
    usesKeyTransformer ? driver.preparePersistentValue(value, keyColumn) : value,
    column,
  )
}

/**
 * Whether SQL has only a placeholder for the value. TypeORM wraps some types in functions, and a listener may set a
 * function that returns SQL.
 */
function isBindable({ driver }: DataSource, { type }: ColumnMetadata, value: unknown): boolean {
  return typeof value !== 'function' && type !== 'jsonb' && !driver.spatialTypes.includes(type)
}

function pathOf(column: ColumnMetadata): string {
  const { relationMetadata: relation, referencedColumn } = column
  const isPartOfCompositeKey = column.isVirtual && relation !== undefined && relation.joinColumns.length > 1
  return isPartOfCompositeKey ? `${relation.propertyPath}.${referencedColumn?.propertyName}` : column.propertyPath
}

/**
 * Column defaults that are functions, as SQL for an INSERT on SQLite, which has no keyword DEFAULT for a value. They
 * are evaluated for each INSERT, because the function may return different SQL each time.
 */
export function explicitDefaults(
  dataSource: DataSource,
  metadata: EntityMetadata,
  entity: ObjectLiteral,
): readonly (readonly [ColumnMetadata, string])[] {
  if (!dialectOf(dataSource).spellsDefaults) return []
  return functionDefaults(metadata)
    .filter((column) => column.getEntityValue(entity) === undefined)
    .map((column) => [column, String(dataSource.driver.normalizeDefault(column))])
}

const functionDefaults = memoize(({ columns }: EntityMetadata): readonly ColumnMetadata[] =>
  columns.filter((column) => typeof column.default === 'function' && column.isInsert),
)

/**
 * Columns with `ON UPDATE` (such as `ON UPDATE CURRENT_TIMESTAMP`), which the database sets only if an UPDATE changes
 * the row, and their SQL. Every UPDATE sets them explicitly: otherwise an unchanged column would reveal that a hidden
 * value has been guessed.
 */
export function explicitOnUpdates(
  dataSource: DataSource,
  { columns, updateDateColumn }: EntityMetadata,
  changed: readonly ColumnValue[],
): readonly (readonly [ColumnMetadata, string])[] {
  if (!dialectOf(dataSource).hasOnUpdate) return []
  const isChanged = (column: ColumnMetadata): boolean => changed.some(([changedColumn]) => changedColumn === column)
  return columns
    .filter((column) => column.isUpdate && column !== updateDateColumn && !isChanged(column))
    .flatMap((column) => (column.onUpdate === undefined ? [] : [[column, column.onUpdate] as const]))
}
