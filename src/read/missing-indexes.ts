import type { DataSource, EntityMetadata } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import type { Field } from '../schema/field'
import type { ColumnMetadata } from '../schema/metadata'
import { isColumnNamed } from '../schema/property'
import type { Resource } from '../schema/registry'

/**
 * Notes through the data source's logger which foreign keys no index begins with. What lists are ordered by, if nobody asks for
 * another order, is the key, which always has one.
 */
export function noteMissingIndexes(dataSource: DataSource, resources: Iterable<Resource>): void {
  for (const resource of resources) {
    for (const note of notesOf(resource, dataSource)) dataSource.logger.log('info', `typeorm-resources: ${note}`)
  }
}

function notesOf({ metadata, outputFields, owner }: Resource, dataSource: DataSource): readonly string[] {
  // The rows of a view are found by the indexes of other tables.
  if (metadata.tableType === 'view') return []
  const { indexesReferences } = dialectOf(dataSource)
  const indexed = indexedColumns(metadata, dataSource)
  const fields = new Set<Field>([...outputFields, ...(owner === undefined ? [] : [owner])])
  return [...fields].flatMap(({ relation, columns, property }) => {
    if (relation === undefined || (indexesReferences && relation.foreignKeys.length > 0)) return []
    // Of a foreign key of several columns any is enough: `@Index()` on the relation takes the first.
    if (columns.some(({ column }) => indexed.has(column.databaseName))) return []
    const [path, target] = [`${metadata.name}.${property}`, relation.inverseEntityMetadata.name]
    const cost = `the database reads every ${metadata.name} to find those of one ${target}`
    return [`no index begins with ${path}, so ${cost}: write @Index() on ${path}`]
  })
}

/** The first column of each index and key of the table. Under single-table inheritance each class may say some of them. */
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

/** TypeORM does not look up the columns of an index that it leaves to migrations. */
function namedColumns(
  { columns }: EntityMetadata,
  { givenColumnNames: names }: EntityMetadata['indices'][number],
): readonly ColumnMetadata[] {
  const named = Array.isArray(names) ? names : []
  return named.flatMap((name) => columns.filter((column) => isColumnNamed(column, [name])))
}
