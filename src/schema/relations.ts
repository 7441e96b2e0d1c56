import type { Field } from './field'
import type { RelationMetadata } from './metadata'
import { isDeclaredBy } from './property'
import type { Registration } from './registration'

/**
 * The relations that a filter may follow, by name: to one record by a foreign key that is shown, as `author` and `author_id`;
 * to one or many records that refer to this one, or share a junction table with it, as `books`.
 */
export function buildRelations(
  { metadata, options }: Registration,
  record: readonly Field[],
): ReadonlyMap<string, RelationMetadata> {
  const byForeignKey = record.flatMap(({ name, relation }) => {
    if (relation === undefined) return []
    return [[name, relation] as const, [name.replace(/_id$/, ''), relation] as const]
  })
  const others = metadata.relations
    .filter((relation) => isToMany(relation) && isComplete(relation) && isDeclaredBy(metadata, relation))
    .filter(({ propertyPath }) => !options.exclude?.some((name) => isWithin(propertyPath, name)))
    .map((relation) => [relation.propertyPath.replaceAll('.', '__'), relation] as const)
  return new Map([...others, ...byForeignKey])
}

/** Whether a relation stands between a record and many, or one that it holds no key of. */
export function isToMany(relation: RelationMetadata): boolean {
  return relation.joinColumns.length === 0 || relation.isManyToMany
}

/** TypeORM builds relations that name nothing at their other end too, and cannot follow them. */
function isComplete({ isManyToMany, junctionEntityMetadata, inverseRelation }: RelationMetadata): boolean {
  return (isManyToMany ? junctionEntityMetadata : inverseRelation) !== undefined
}

function isWithin(path: string, name: string): boolean {
  return path === name || path.startsWith(`${name}.`)
}
