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
  const indexed = new Set(indexesOf(metadata, dataSource).map(({ columns: [first] }) => first))
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
 * is enough, unless another index has more of the order: PostgreSQL may prefer it, and read the whole table.
 * @param sorted sort columns of the table, without those of the foreign key
 */
export function isOrderIndexed(
  relation: RelationMetadata,
  sorted: readonly ColumnMetadata[],
  dataSource: DataSource,
): boolean {
  const foreignKey = new Set(withJoinColumns(relation).joinColumns.map(({ databaseName }) => databaseName))
  const order = sorted.map(({ databaseName }) => databaseName)
  let ofForeignKey = -1
  let ofOthers = 0
  for (const { columns, isPartial } of indexesOf(relation.entityMetadata, dataSource)) {
    const [first, rest] = [columns.slice(0, foreignKey.size), columns.slice(foreignKey.size)]
    if (first.length === foreignKey.size && first.every((name) => foreignKey.has(name))) {
      if (!isPartial) ofForeignKey = Math.max(ofForeignKey, commonLength(rest, order))
    } else {
      // The records that a filter selects have the order of an index without the column of the filter.
      const ofOrder = columns.filter((name) => order.includes(name))
      ofOthers = Math.max(ofOthers, commonLength(ofOrder, order))
    }
  }
  return ofForeignKey === order.length || (ofForeignKey > 0 && ofForeignKey >= ofOthers)
}

/** Whether an index of all records of the table begins with a column. */
export function isIndexed(metadata: EntityMetadata, { databaseName }: ColumnMetadata, dataSource: DataSource): boolean {
  return indexesOf(metadata, dataSource).some(({ columns: [first], isPartial }) => !isPartial && first === databaseName)
}

/** Number of columns with which both lists begin. */
function commonLength(columns: readonly string[], order: readonly string[]): number {
  const end = order.findIndex((name, index) => columns[index] !== name)
  return end < 0 ? order.length : end
}

/** Whether a column belongs to the foreign key of a relation. */
export function isJoinColumn(relation: RelationMetadata, { databaseName }: ColumnMetadata): boolean {
  return withJoinColumns(relation).joinColumns.some((column) => column.databaseName === databaseName)
}

/** Index or key of a table. */
interface TableIndex {
  /** Names of its columns in the database. */
  readonly columns: readonly string[]
  /** Whether it has only the records that match a condition. */
  readonly isPartial: boolean
}

/** The indexes and keys of a table. Under single-table inheritance each class may declare indexes. */
function indexesOf({ tablePath }: EntityMetadata, { entityMetadatas }: DataSource): readonly TableIndex[] {
  const toIndex = (columns: readonly ColumnMetadata[], isPartial = false): TableIndex => ({
    columns: columns.map(({ databaseName }) => databaseName),
    isPartial,
  })
  const family = entityMetadatas.filter((metadata) => metadata.tablePath === tablePath)
  return family.flatMap((metadata) => [
    toIndex(metadata.primaryColumns),
    ...metadata.uniques.map(({ columns }) => toIndex(columns)),
    ...metadata.indices.map((index) =>
      toIndex(index.synchronize ? index.columns : namedColumns(metadata, index), index.where !== undefined),
    ),
  ])
}

/** Columns of an index with `synchronize: false`, for which TypeORM does not resolve them. */
function namedColumns(
  { columns }: EntityMetadata,
  { givenColumnNames: indexColumns }: EntityMetadata['indices'][number],
): readonly ColumnMetadata[] {
  const names = Array.isArray(indexColumns) ? indexColumns : []
  return names.flatMap((name) => columns.filter((column) => listsColumn(column, [name])))
}
