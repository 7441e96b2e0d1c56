import type { MountContext } from './context'
import type { ColumnMetadata, RelationMetadata } from './metadata'
import { isSameColumn, listsColumn, propertyOf } from './property'
import type { Registration } from './registration'

/** The part of the context that exists before any resource is built. */
type HiddenContext = Pick<MountContext, 'accounts' | 'registrations'>

/** Whether a column is hidden in all resources: `select: false`, or the users' password. */
function isHiddenEverywhere(column: ColumnMetadata, { accounts }: HiddenContext): boolean {
  return !column.isSelect || isSameColumn(column, accounts?.password)
}

/** Whether a resource hides a column of its entity. */
export function isHidden(column: ColumnMetadata, { options }: Registration, context: HiddenContext): boolean {
  return listsColumn(column, options.exclude) || isHiddenEverywhere(column, context)
}

/**
 * The hidden column whose values a foreign key would show, for example `User.email`; undefined if there is no such
 * column. References are followed further if the referenced column is a foreign key itself.
 * @param visited referenced columns that are checked already, because references may form a cycle
 */
export function hiddenReference(
  column: ColumnMetadata,
  context: HiddenContext,
  visited: readonly ColumnMetadata[] = [],
): string | undefined {
  for (const { relation, referenced } of referencesOf(column)) {
    if (visited.includes(referenced)) continue
    const { inverseEntityMetadata } = relation
    if (isHiddenEverywhere(referenced, context) || isExcluded(referenced, relation, context)) {
      return `${inverseEntityMetadata.name}.${propertyOf(referenced)}`
    }
    const hidden = hiddenReference(referenced, context, [...visited, referenced])
    if (hidden !== undefined) return hidden
  }
  return undefined
}

interface Reference {
  readonly relation: RelationMetadata
  readonly referenced: ColumnMetadata
}

/**
 * The columns that a column refers to. If a column is part of several relations, TypeORM's metadata has a copy of it
 * for each of them, with the reference of that relation.
 */
function referencesOf(column: ColumnMetadata): readonly Reference[] {
  return column.entityMetadata.relations.flatMap((relation) =>
    relation.joinColumns
      .filter((joinColumn) => isSameColumn(joinColumn, column))
      .flatMap(({ referencedColumn: referenced }) => (referenced === undefined ? [] : [{ relation, referenced }])),
  )
}

/**
 * Whether the resource of the referenced entity excludes a column. If the entity is not a resource, whether any
 * resource that shares its table does, for example under single-table inheritance.
 */
function isExcluded(
  column: ColumnMetadata,
  { inverseEntityMetadata }: RelationMetadata,
  { registrations }: HiddenContext,
): boolean {
  const own = registrations.filter(({ metadata }) => metadata === inverseEntityMetadata)
  const sharing = registrations.filter(({ metadata }) => metadata.tablePath === inverseEntityMetadata.tablePath)
  return (own.length > 0 ? own : sharing).some(({ metadata, options }) =>
    metadata.columns.some((other) => isSameColumn(other, column) && listsColumn(other, options.exclude)),
  )
}
