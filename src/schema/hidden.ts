import type { MountContext } from './context'
import type { Field } from './field'
import { readFunctions } from './field-permissions'
import type { ColumnMetadata, RelationMetadata } from './metadata'
import { hasOption, isSameColumn, listsColumn, propertyOf } from './property'
import type { Registration } from './registration'

/** The part of the context that exists before any resource is built. */
type HiddenContext = Pick<MountContext, 'accounts' | 'apiKeys' | 'registrations' | 'fieldPermissions'>

/** Whether a column is hidden in all resources: `select: false`, the users' password, or the hash of API keys. */
export function isHiddenEverywhere(
  column: ColumnMetadata,
  { accounts, apiKeys }: Pick<MountContext, 'accounts' | 'apiKeys'>,
): boolean {
  const isHash = apiKeys.some(({ hash }) => isSameColumn(column, hash.column))
  return !hasOption(column.entityMetadata, column, 'select') || isSameColumn(column, accounts?.password) || isHash
}

/** Whether a resource hides a column of its entity. */
export function isHidden(column: ColumnMetadata, registration: Registration, context: HiddenContext): boolean {
  return isHiddenIn(registration, column) || isHiddenEverywhere(column, context)
}

/** Whether the options of a resource, or the class of its entity, hide a column. */
function isHiddenIn({ metadata, options }: Registration, column: ColumnMetadata): boolean {
  return listsColumn(column, options.exclude) || !hasOption(metadata, column, 'select')
}

/**
 * The hidden column whose values a foreign key would show, for example `User.email`; undefined if there is no such
 * column.
 */
export function hiddenReference(column: ColumnMetadata, context: HiddenContext): string | undefined {
  const hidden = allReferencesOf(column).find(
    (reference) => isHiddenEverywhere(reference.referenced, context) || isExcluded(reference, context),
  )
  return hidden && nameOf(hidden)
}

/**
 * The column whose values a foreign key would show to principals who may not read that column; undefined if there is
 * none. For each function that decides who may read the column, the foreign key needs the same one.
 */
export function restrictedReference(
  { columns, relation }: Field,
  { metadata }: Registration,
  context: HiddenContext,
): string | undefined {
  const isOwn = (column: ColumnMetadata): boolean => columns.some((stored) => stored.column === column)
  const own = readFunctions(metadata, isOwn, context.fieldPermissions, relation?.propertyPath)
  const restricted = columns
    .flatMap(({ column }) => allReferencesOf(column))
    .find((reference) => {
      const isReferenced = (column: ColumnMetadata): boolean => isSameColumn(column, reference.referenced)
      return resourcesOf(reference, context).some((target) =>
        [...readFunctions(target.metadata, isReferenced, context.fieldPermissions)].some((read) => !own.has(read)),
      )
    })
  return restricted && nameOf(restricted)
}

function nameOf({ relation, referenced }: Reference): string {
  return `${relation.inverseEntityMetadata.name}.${propertyOf(referenced)}`
}

interface Reference {
  readonly relation: RelationMetadata
  readonly referenced: ColumnMetadata
}

/**
 * The columns to which a column refers, directly or through other foreign keys.
 * @param visited referenced columns that are found already, because references may form a cycle
 */
function allReferencesOf(column: ColumnMetadata, visited: readonly ColumnMetadata[] = []): readonly Reference[] {
  return referencesOf(column)
    .filter(({ referenced }) => !visited.includes(referenced))
    .flatMap((reference) => {
      const { referenced } = reference
      return [reference, ...allReferencesOf(referenced, [...visited, referenced])]
    })
}

/**
 * The columns to which a column refers directly. If a column is part of several relations, TypeORM's metadata has a copy
 * of it for each of them, with the reference of that relation.
 */
function referencesOf(column: ColumnMetadata): readonly Reference[] {
  return column.entityMetadata.relations.flatMap((relation) =>
    relation.joinColumns
      .filter((joinColumn) => isSameColumn(joinColumn, column))
      .flatMap(({ referencedColumn: referenced }) => (referenced === undefined ? [] : [{ relation, referenced }])),
  )
}

/** Whether a resource of the referenced entity hides the column. */
function isExcluded(reference: Reference, context: HiddenContext): boolean {
  return resourcesOf(reference, context).some((target) =>
    target.metadata.columns.some((other) => isSameColumn(other, reference.referenced) && isHiddenIn(target, other)),
  )
}

/**
 * The resource of the referenced entity. If the entity is not a resource, all resources that share its table, for
 * example under single-table inheritance.
 */
function resourcesOf(
  { relation: { inverseEntityMetadata } }: Reference,
  { registrations }: HiddenContext,
): readonly Registration[] {
  const own = registrations.filter(({ metadata }) => metadata === inverseEntityMetadata)
  if (own.length > 0) return own
  return registrations.filter(({ metadata }) => metadata.tablePath === inverseEntityMetadata.tablePath)
}
