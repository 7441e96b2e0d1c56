import type { DataSource, EntityMetadata } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import type { Field } from '../schema/field'
import type { ColumnMetadata } from '../schema/metadata'
import { listsColumn } from '../schema/property'
import type { ResourceView } from '../schema/resource-view'

/**
 * Logs the foreign keys that are not the first column of an index, through the data source's logger. The default order
 * of lists needs no check: it is the primary key, which always has an index.
 */
export function logMissingIndexes(dataSource: DataSource, resources: Iterable<ResourceView>): void {
  for (const view of resources) {
    for (const note of notesOf(view, dataSource)) dataSource.logger.log('info', `typeorm-resources: ${note}`)
  }
}

function notesOf({ metadata, outputFields, owner }: ResourceView, dataSource: DataSource): readonly string[] {
  // Views have no indexes: the database uses those of the tables that they select from.
  if (metadata.tableType === 'view') return []
  const { indexesReferences } = dialectOf(dataSource)
  const indexed = indexedColumns(metadata, dataSource)
  const fields = new Set<Field>([...outputFields, ...(owner === undefined ? [] : [owner])])
  return [...fields].flatMap(({ relation, columns, property }) => {
    if (relation === undefined || (indexesReferences && relation.foreignKeys.length > 0)) return []
    // For a foreign key of several columns, an index on one of them is enough: `@Index()` on the relation takes the
    // first.
    if (columns.some(({ column }) => indexed.has(column.databaseName))) return []
    const [path, target] = [`${metadata.name}.${property}`, relation.inverseEntityMetadata.name]
    const cost = `the database reads every ${metadata.name} to find those of one ${target}`
    return [`no index begins with ${path}, so ${cost}: write @Index() on ${path}`]
  })
}

/** First column of each index and key of the table. Under single-table inheritance each class may declare indexes. */
function indexedColumns(
  { tablePath }: EntityMetadata,
  { entityMetadatas }: DataSource,
): ReadonlySet<string | undefined> {
  const family = entityMetadatas.filter((metadata) => metadata.tablePath === tablePath)
  const indexes = family.flatMap((metadata) => [
    metadata.primaryColumns,
    ...metadata.uniques.map(({ columns }) => columns),
    ...metadata.indices.map((index) => (index.synchronize ? index.columns : namedColumns(metadata, index))),
  ])
  return new Set(indexes.map(([first]) => first?.databaseName))
}

/** Columns of an index with `synchronize: false`, for which TypeORM does not resolve them. */
function namedColumns(
  { columns }: EntityMetadata,
  { givenColumnNames: indexColumns }: EntityMetadata['indices'][number],
): readonly ColumnMetadata[] {
  const names = Array.isArray(indexColumns) ? indexColumns : []
  return names.flatMap((name) => columns.filter((column) => listsColumn(column, [name])))
}
