import type { DataSource, EntityMetadata } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import { type ColumnMetadata, type RelationMetadata, withJoinColumns } from '../schema/metadata'
import { listsColumn } from '../schema/property'

/**
 * Returns a function that finds out whether the foreign key of a relation has an index, as far as the metadata of TypeORM
 * says: an index that only the database knows is not found.
 * @param metadata entity whose table has the foreign key
 */
export function foreignKeyIndexes(
  metadata: EntityMetadata,
  dataSource: DataSource,
): (relation: RelationMetadata) => boolean {
  const { indexesReferences } = dialectOf(dataSource)
  const indexed = new Set(indexesOf(metadata, dataSource).map(([first]) => first))
  return (relation) => {
    const { foreignKeys, joinColumns } = withJoinColumns(relation)
    if (indexesReferences && foreignKeys.length > 0) return true
    // For a foreign key of several columns, an index on one of them is enough: `@Index()` on the relation takes the first.
    return joinColumns.some(({ databaseName }) => indexed.has(databaseName))
  }
}

/** Whether an index finds the related records of a record. A junction table has one for each side. */
export function areRelatedIndexed(
  { isManyToMany, inverseRelation }: RelationMetadata,
  dataSource: DataSource,
): boolean {
  if (isManyToMany || inverseRelation === undefined) return true
  return foreignKeyIndexes(inverseRelation.entityMetadata, dataSource)(inverseRelation)
}

/**
 * Whether PostgreSQL reads the records of a foreign key in an order from an index. An index on the foreign key and the first sort column
 * is enough, unless another index has the whole order: PostgreSQL may prefer it, and read the whole table.
 * @param sorted sort columns of the table, without those of the foreign key
 */
export function isOrderIndexed(
  relation: RelationMetadata,
  sorted: readonly ColumnMetadata[],
  dataSource: DataSource,
): boolean {
  const foreignKey = new Set(withJoinColumns(relation).joinColumns.map(({ databaseName }) => databaseName))
  const indexes = indexesOf(relation.entityMetadata, dataSource, ({ where }) => where === undefined)
  const hasAt = (index: readonly string[], position: number, columns: readonly ColumnMetadata[]): boolean =>
    columns.every(({ databaseName }, offset) => index[position + offset] === databaseName)
  const ofForeignKey = indexes.filter(
    (index) => index.length >= foreignKey.size && index.slice(0, foreignKey.size).every((name) => foreignKey.has(name)),
  )
  const hasAfterKey = (columns: readonly ColumnMetadata[]): boolean =>
    ofForeignKey.some((index) => hasAt(index, foreignKey.size, columns))
  if (hasAfterKey(sorted)) return true
  return hasAfterKey(sorted.slice(0, 1)) && !indexes.some((index) => hasAt(index, 0, sorted))
}

/** Whether a column belongs to the foreign key of a relation. */
export function isJoinColumn(relation: RelationMetadata, { databaseName }: ColumnMetadata): boolean {
  return withJoinColumns(relation).joinColumns.some((column) => column.databaseName === databaseName)
}

/**
 * Names of the columns of each index and key of the table. Under single-table inheritance each class may declare indexes.
 * @param isUsed whether an index counts, such as a partial one. Default: all do
 */
function indexesOf(
  { tablePath }: EntityMetadata,
  { entityMetadatas }: DataSource,
  isUsed: (index: EntityMetadata['indices'][number]) => boolean = () => true,
): readonly (readonly string[])[] {
  const family = entityMetadatas.filter((metadata) => metadata.tablePath === tablePath)
  const indexes = family.flatMap((metadata) => [
    metadata.primaryColumns,
    ...metadata.uniques.map(({ columns }) => columns),
    ...metadata.indices
      .filter(isUsed)
      .map((index) => (index.synchronize ? index.columns : namedColumns(metadata, index))),
  ])
  return indexes.map((columns) => columns.map(({ databaseName }) => databaseName))
}

/** Columns of an index with `synchronize: false`, for which TypeORM does not resolve them. */
function namedColumns(
  { columns }: EntityMetadata,
  { givenColumnNames: indexColumns }: EntityMetadata['indices'][number],
): readonly ColumnMetadata[] {
  const names = Array.isArray(indexColumns) ? indexColumns : []
  return names.flatMap((name) => columns.filter((column) => listsColumn(column, [name])))
}
