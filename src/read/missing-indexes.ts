import type { DataSource, EntityMetadata } from 'typeorm'
import { isView, type RelationMetadata } from '../schema/metadata'
import { isToMany } from '../schema/relations'
import type { ResourceView } from '../schema/resource-view'
import { foreignKeyIndexes } from './foreign-key-index'

/**
 * Logs the foreign keys that are not the first column of an index, through the data source's logger: those in records,
 * and those that row scopes and permissions may follow. The default order of lists needs no check: it is the primary key,
 * which always has an index.
 */
export function logMissingIndexes(dataSource: DataSource, resources: Iterable<ResourceView>): void {
  const views = [...resources]
  const shown = views.flatMap(({ metadata, outputFields, owner }) =>
    notesOf(
      metadata,
      [...outputFields, owner].map((field) => field?.relation),
      dataSource,
    ),
  )
  const followed = reachableFrom(views.filter(hasFilter).map(({ metadata }) => metadata)).flatMap((metadata) =>
    notesOf(metadata, metadata.relations, dataSource),
  )
  for (const note of new Set([...shown, ...followed])) dataSource.logger.log('info', `typeorm-resources: ${note}`)
}

/** Whether a function of the application decides which records may be seen or written. It may follow any relation. */
function hasFilter({ rowScope, may }: ResourceView): boolean {
  return rowScope?.type === 'filter' || Object.keys(may).length > 0
}

/** Entities to which relations lead from others, directly or through other entities. */
function reachableFrom(entities: readonly EntityMetadata[]): readonly EntityMetadata[] {
  const reached = new Set(entities)
  // A set also iterates over the members that are added meanwhile.
  for (const { relations } of reached) for (const relation of relations) reached.add(relation.inverseEntityMetadata)
  return [...reached]
}

function notesOf(
  metadata: EntityMetadata,
  relations: readonly (RelationMetadata | undefined)[],
  dataSource: DataSource,
): readonly string[] {
  // Views have no indexes: the database uses those of the tables that they select from.
  if (isView(metadata)) return []
  const isIndexed = foreignKeyIndexes(metadata, dataSource)
  return relations.flatMap((relation) => {
    if (relation === undefined || isToMany(relation) || isIndexed(relation)) return []
    const [path, target] = [`${metadata.name}.${relation.propertyPath}`, relation.inverseEntityMetadata.name]
    const cost = `the database reads every ${metadata.name} to find those of one ${target}`
    return [`no index begins with ${path}, so ${cost}: write @Index() on ${path}`]
  })
}
