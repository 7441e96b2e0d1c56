import type { Field } from './field'
import type { RelationMetadata } from './metadata'
import { isDeclaredBy, isNamed } from './property'
import type { Registration } from './registration'
import type { ResourceView } from './resource-view'

/**
 * The relations without a foreign key on this side that filters may follow, by name: one-to-many, many-to-many and the
 * inverse side of one-to-one, for example `books`.
 */
export function buildRelations({ metadata, options }: Registration): ReadonlyMap<string, RelationMetadata> {
  // A relation in an embedded entity is declared by the class of the embedded entity.
  const isOwn = (relation: RelationMetadata): boolean =>
    relation.embeddedMetadata !== undefined || isDeclaredBy(metadata, relation)
  const relations = metadata.relations
    .filter((relation) => isToMany(relation) && isComplete(relation) && isOwn(relation))
    .filter(({ propertyPath }) => !isNamed(propertyPath, options.exclude))
  return new Map(relations.map((relation) => [relation.propertyPath.replaceAll('.', '__'), relation]))
}

/**
 * Whether this side of the relation has no foreign key: one-to-many, many-to-many, and the inverse side of one-to-one,
 * which is treated like them although it leads to one record.
 */
export function isToMany(relation: RelationMetadata): boolean {
  return relation.joinColumns.length === 0 || relation.isManyToMany
}

/**
 * Whether the related resource hides the inverse of a relation. Filters must not follow such a relation from this side
 * either.
 */
export function isHiddenBy(related: ResourceView, relation: RelationMetadata): boolean {
  const { inverseRelation } = relation
  if (inverseRelation === undefined || !isToMany(relation)) return false
  const isInverse = (other: RelationMetadata | undefined): boolean =>
    other?.propertyPath === inverseRelation.propertyPath
  const shown: readonly Field[] = related.outputFields
  return !shown.some((field) => isInverse(field.relation)) && ![...related.relations.values()].some(isInverse)
}

/** Whether TypeORM can join the relation. Its metadata has relations without an inverse side or junction table too. */
function isComplete({ isManyToMany, junctionEntityMetadata, inverseRelation }: RelationMetadata): boolean {
  return (isManyToMany ? junctionEntityMetadata : inverseRelation) !== undefined
}
