import type { DataSource, EntityMetadata, ObjectLiteral } from 'typeorm'
import type { Bind } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import { type ColumnValue, setPath } from '../read/entity'
import { memoize } from '../schema/memoize'
import type { ColumnMetadata } from '../schema/metadata'
import { endOfReferences } from '../schema/stored-column'

/** What TypeORM's builders take, and what the text they make of it depends on; undefined where it is the values. */
export interface ValueSet {
  readonly toSet: () => ObjectLiteral
  readonly shape: string | undefined
}

/** Values by property, a foreign key in place of the entity it refers to. */
export function toValueSet(dataSource: DataSource, values: readonly ColumnValue[], bind: Bind): ValueSet {
  const members: [column: ColumnMetadata, member: unknown][] = []
  const { written } = dialectOf(dataSource)
  let shape: string | undefined = ''
  for (const [column, value] of values) {
    const stored = toStored(dataSource, column, value)
    if (stored === undefined) continue
    if (isBindable(dataSource, column, stored)) {
      const name = bind(written(column, stored))
      members.push([column, () => name])
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

/** What the database stores for a value. */
function toStored({ driver }: DataSource, column: ColumnMetadata, value: unknown): unknown {
  if (typeof value === 'function') return value
  const end = endOfReferences(column)
  // TypeORM does not apply the transformer of the key to a foreign key.
  const isForeign = end !== column && end.transformer !== undefined && column.transformer === undefined
  return driver.preparePersistentValue(isForeign ? driver.preparePersistentValue(value, end) : value, column)
}

/** Whether the value alone stands for it in SQL: TypeORM writes functions around some, and SQL that a listener has given as it is. */
function isBindable({ driver }: DataSource, { type }: ColumnMetadata, value: unknown): boolean {
  return typeof value !== 'function' && type !== 'jsonb' && !driver.spatialTypes.includes(type)
}

function pathOf(column: ColumnMetadata): string {
  const { relationMetadata: relation, referencedColumn } = column
  const isOfSeveral = column.isVirtual && relation !== undefined && relation.joinColumns.length > 1
  return isOfSeveral ? `${relation.propertyPath}.${referencedColumn?.propertyName}` : column.propertyPath
}

/** Defaults that a function makes, which TypeORM has SQLite's INSERT spell: each time anew, since it may make another one. */
export function spelledDefaults(
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
 * Columns that the database sets by itself when an UPDATE changes the row (`ON UPDATE CURRENT_TIMESTAMP`), and to what. They are
 * written in every UPDATE: one that stays would tell that a hidden value is stored already.
 */
export function spelledUpdates(
  dataSource: DataSource,
  { columns, updateDateColumn }: EntityMetadata,
  given: readonly ColumnValue[],
): readonly (readonly [ColumnMetadata, string])[] {
  if (!dialectOf(dataSource).hasOnUpdate) return []
  const isGiven = (column: ColumnMetadata): boolean => given.some(([one]) => one === column)
  return columns
    .filter((column) => column.isUpdate && column !== updateDateColumn && !isGiven(column))
    .flatMap((column) => (column.onUpdate === undefined ? [] : [[column, column.onUpdate] as const]))
}
