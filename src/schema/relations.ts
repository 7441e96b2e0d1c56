import type { Field } from './field'
import type { RelationMetadata } from './metadata'
import { isDeclaredBy, isNamed } from './property'
import type { Registration } from './registration'
import type { Resource } from './registry'

/**
 * The relations that a filter may follow besides foreign keys, by name: to one or many records that refer to this one, or
 * share a junction table with it, as `books`.
 */
export function buildRelations({ metadata, options }: Registration): ReadonlyMap<string, RelationMetadata> {
  const found = metadata.relations
    .filter((relation) => isToMany(relation) && isComplete(relation) && isDeclaredBy(metadata, relation))
    .filter(({ propertyPath }) => !isNamed(propertyPath, options.exclude))
  return new Map(found.map((relation) => [relation.propertyPath.replaceAll('.', '__'), relation]))
}

/** Whether a relation stands between a record and many, or one that it holds no key of. */
export function isToMany(relation: RelationMetadata): boolean {
  return relation.joinColumns.length === 0 || relation.isManyToMany
}

/** Whether the resource at the other end hides that a record of it refers to this one: then it is not followed from here either. */
export function isHiddenBy(related: Resource, relation: RelationMetadata): boolean {
  const { inverseRelation } = relation
  if (inverseRelation === undefined || !isToMany(relation)) return false
  const isIt = (other: RelationMetadata | undefined): boolean => other?.propertyPath === inverseRelation.propertyPath
  const shown: readonly Field[] = related.outputFields
  return !shown.some((field) => isIt(field.relation)) && ![...related.relations.values()].some(isIt)
}

/** TypeORM builds relations that name nothing at their other end too, and cannot follow them. */
function isComplete({ isManyToMany, junctionEntityMetadata, inverseRelation }: RelationMetadata): boolean {
  return (isManyToMany ? junctionEntityMetadata : inverseRelation) !== undefined
}
