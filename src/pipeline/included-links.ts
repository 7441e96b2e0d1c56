import type { RawRow } from '../connection/statement'
import type { IncludedList } from '../query/query'
import type { Store } from '../read/store'
import type { RelationMetadata } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'
import type { PageReading } from './page-reading'

/**
 * Returns a function for the path of the records that follow those of an included list: a page of the list of the related
 * records. It is null if no filter of that list leads back to the parent.
 */
export function nextPathOf(
  { pathOf }: PageReading,
  { view: parent, renderKey }: Store,
  { view, relation, repeated, limit }: IncludedList,
): (raw: RawRow) => string | null {
  const filter = filterOnParent(view, parent, relation)
  if (filter === undefined) return () => null
  const others = `${repeated === '' ? '' : `&${repeated}`}&limit=${limit}&page=2`
  return (raw) => `${pathOf(view.name)}?${filter}=${encodeURIComponent(String(renderKey(raw)))}${others}`
}

/** Returns a function for the path of a list of the same mount. @param collection path of another list: `/api/note/` */
export function siblingPathOf(collection: string): PageReading['pathOf'] {
  const prefix = collection.slice(0, collection.lastIndexOf('/', collection.length - 2) + 1)
  return (resource) => `${prefix}${resource}/`
}

/** Name of the filter on related records by the key of their parent. */
function filterOnParent(view: ResourceView, parent: ResourceView, relation: RelationMetadata): string | undefined {
  const { inverseRelation } = relation
  if (inverseRelation === undefined) return undefined
  const isInverse = (other: RelationMetadata | undefined): boolean =>
    other?.propertyPath === inverseRelation.propertyPath
  // `fields` has all fields, also those that the request does not select.
  const foreignKey = [...view.fields.values()].find((field) => isInverse(field.relation))
  if (foreignKey?.relation !== undefined) {
    const refersToKey = foreignKey.relation.joinColumns.every(({ referencedColumn }) =>
      parent.key.columns.some(({ column }) => column.databaseName === referencedColumn?.databaseName),
    )
    if (refersToKey) return foreignKey.name
    const [name] = [...view.fields].find(([, field]) => field === foreignKey) ?? []
    return name === undefined ? undefined : `${name}__id`
  }
  const [name] = [...view.relations].find(([, one]) => isInverse(one)) ?? []
  return name === undefined ? undefined : `${name}__id`
}
