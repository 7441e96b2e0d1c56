import type { MountContext } from './context'
import type { ColumnMetadata, RelationMetadata } from './metadata'
import { isColumnNamed, isSameColumn, propertyOf } from './property'
import type { Registration } from './registration'

/** What is known of all resources of a mount before one of them is built. */
type Site = Pick<MountContext, 'accounts' | 'registrations'>

/** Whether a column is hidden wherever it is shown from: `select: false`, or the users' passwords. */
function isSecret(column: ColumnMetadata, { accounts }: Site): boolean {
  return !column.isSelect || isSameColumn(column, accounts?.password)
}

/** Whether a resource hides one of its columns. */
export function isHidden(column: ColumnMetadata, { options }: Registration, site: Site): boolean {
  return isColumnNamed(column, options.exclude) || isSecret(column, site)
}

/**
 * The hidden column whose values a foreign key would show, as `User.email`; undefined if there is none. A column that it refers to
 * may be a foreign key itself.
 */
export function hiddenReference(
  column: ColumnMetadata,
  site: Site,
  visited: readonly ColumnMetadata[] = [],
): string | undefined {
  for (const { relation, referenced } of referencesOf(column)) {
    if (visited.includes(referenced)) continue
    const { inverseEntityMetadata } = relation
    if (isSecret(referenced, site) || isExcluded(referenced, relation, site)) {
      return `${inverseEntityMetadata.name}.${propertyOf(referenced)}`
    }
    const further = hiddenReference(referenced, site, [...visited, referenced])
    if (further !== undefined) return further
  }
  return undefined
}

interface Reference {
  readonly relation: RelationMetadata
  readonly referenced: ColumnMetadata
}

/** The columns that a column refers to. Of a column of several relations TypeORM keeps one reference itself, and copies for the others. */
function referencesOf(column: ColumnMetadata): readonly Reference[] {
  return column.entityMetadata.relations.flatMap((relation) =>
    relation.joinColumns
      .filter((joinColumn) => isSameColumn(joinColumn, column))
      .flatMap(({ referencedColumn: referenced }) => (referenced === undefined ? [] : [{ relation, referenced }])),
  )
}

/**
 * Whether the resource of the referenced entity excludes a column. For an entity that is not a resource, the resources that share
 * its table decide, as those of single-table inheritance.
 */
function isExcluded(
  column: ColumnMetadata,
  { inverseEntityMetadata }: RelationMetadata,
  { registrations }: Site,
): boolean {
  const own = registrations.filter(({ metadata }) => metadata === inverseEntityMetadata)
  const sharing = registrations.filter(({ metadata }) => metadata.tablePath === inverseEntityMetadata.tablePath)
  return (own.length > 0 ? own : sharing).some(({ metadata, options }) =>
    metadata.columns.some((one) => isSameColumn(one, column) && isColumnNamed(one, options.exclude)),
  )
}
