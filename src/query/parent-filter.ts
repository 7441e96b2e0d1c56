import type { RelationMetadata } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'

/**
 * Name of the filter on related records by the key of their parent.
 * @param view of the related records
 * @param relation that leads from the parent to them
 * @returns undefined if no filter leads back to the parent
 */
export function filterOnParent(
  view: ResourceView,
  parent: ResourceView,
  relation: RelationMetadata,
): string | undefined {
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
