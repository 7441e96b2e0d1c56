import type { EntityMetadata } from 'typeorm'
import type { Report } from '../errors'
import type { Field } from './field'
import { type ColumnMetadata, type RelationMetadata, withJoinColumns } from './metadata'
import { isDeclaredBy, isNamed, isSameColumn } from './property'
import type { Registration } from './registration'
import type { ResourceView } from './resource-view'

/**
 * The relations without a foreign key on this side that filters may follow, by name: one-to-many, many-to-many and the
 * inverse side of one-to-one, for example `books`.
 */
export function buildRelations({ metadata, options }: Registration): ReadonlyMap<string, RelationMetadata> {
  const relations = metadata.relations
    .filter((relation) => isToMany(relation) && isComplete(relation) && isDeclaredBy(metadata, relation))
    .filter(({ propertyPath }) => !isNamed(propertyPath, options.exclude))
  return new Map(relations.map((relation) => [relation.propertyPath.replaceAll('.', '__'), relation]))
}

/**
 * Whether this side of the relation has no foreign key: one-to-many, many-to-many, and the inverse side of one-to-one,
 * which is treated like them although it leads to one record.
 */
export function isToMany(relation: RelationMetadata): boolean {
  return withJoinColumns(relation).joinColumns.length === 0 || relation.isManyToMany
}

/** The columns of a junction table: the foreign keys to the records of this side, and to the related records. */
interface JunctionColumns {
  readonly own: readonly ColumnMetadata[]
  readonly related: readonly ColumnMetadata[]
}

/** The columns of the junction table of a many-to-many relation; undefined for other relations. */
export function junctionColumnsOf({
  junctionEntityMetadata,
  isManyToManyOwner,
}: RelationMetadata): JunctionColumns | undefined {
  if (junctionEntityMetadata === undefined) return undefined
  const { ownerColumns, inverseColumns } = junctionEntityMetadata
  return isManyToManyOwner
    ? { own: ownerColumns, related: inverseColumns }
    : { own: inverseColumns, related: ownerColumns }
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

/**
 * Reports relations that a class under single-table inheritance declares with another target than a class before it, a
 * parent or another child. TypeORM then has two targets for one relation: statements would join the table of one, while
 * the rules and the hidden fields would be those of the other.
 */
export function checkTargets({ relations, parentEntityMetadata }: EntityMetadata, report: Report): void {
  for (const { propertyPath, inverseEntityMetadata } of relations) {
    // The root has TypeORM's metadata of the first declaration. It is undefined for other entities.
    const first = parentEntityMetadata?.relations.find((relation) => relation.propertyPath === propertyPath)
    if (first === undefined || first.inverseEntityMetadata === inverseEntityMetadata) continue
    const [one, other] = [inverseEntityMetadata.name, first.inverseEntityMetadata.name]
    report(
      `"${propertyPath}" leads to ${one}, but another class in the same table declares "${propertyPath}" too, and there ` +
        `it leads to ${other}: rename one of the properties`,
    )
  }
}

/**
 * Reports relations that share a column of their foreign keys. TypeORM's metadata has the column for the relation that is
 * declared first, and only copies of it for the others, which therefore cannot be fields. A relation can be a field if all
 * others that share a column with it are declared later, are in `exclude`, and have columns of their own: otherwise the
 * field would show all values of an excluded relation.
 */
export function checkSharedColumns({ metadata, options }: Registration, report: Report): void {
  const references = metadata.relations
    .map(withJoinColumns)
    .filter((relation) => !isToMany(relation) && isDeclaredBy(metadata, relation))
  const isExcluded = ({ propertyPath, joinColumns }: RelationMetadata): boolean =>
    isNamed(propertyPath, options.exclude) ||
    joinColumns.some((column) => !column.isVirtual && isNamed(column.propertyPath, options.exclude))
  for (const [index, relation] of references.entries()) {
    if (isExcluded(relation)) continue
    const isCopied = relation.joinColumns.some((column) => !metadata.columns.includes(column))
    const other = references.find((candidate, position) => {
      if (candidate === relation || !sharesColumn(candidate, relation)) return false
      // Of two relations that are not excluded, the second one is reported.
      return isExcluded(candidate) ? isCopied || !hasOtherColumn(candidate, relation) : position < index
    })
    if (other === undefined && !isCopied) continue
    const isShared = (column: ColumnMetadata): boolean =>
      other === undefined ? !metadata.columns.includes(column) : isColumnOf(column, other)
    const column = relation.joinColumns.find(isShared)?.databaseName
    const name = other === undefined ? 'another relation' : `"${other.propertyPath}"`
    report(
      `"${relation.propertyPath}" shares the column "${column}" with ${name}, but only one of the two relations can be a ` +
        'field: declare that one first, and put the other in "exclude", or remove the other from the entity if it has no ' +
        'other column',
    )
  }
}

function sharesColumn(one: RelationMetadata, other: RelationMetadata): boolean {
  return one.joinColumns.some((column) => isColumnOf(column, other))
}

/** Whether a foreign key has a column that is not part of the other one. */
function hasOtherColumn(one: RelationMetadata, other: RelationMetadata): boolean {
  return one.joinColumns.some((column) => !isColumnOf(column, other))
}

function isColumnOf(column: ColumnMetadata, { joinColumns }: RelationMetadata): boolean {
  return joinColumns.some((joinColumn) => isSameColumn(joinColumn, column))
}

/** Names that TypeORM neither replaces nor escapes in the condition of a join. */
const unusableNames = /[ =(),]|^__proto__$/

/**
 * Reports relations that TypeORM cannot join because of a name: that of the relation, of a property that it refers to, or of
 * a column of its junction table.
 */
export function checkJoinedNames({ metadata, options }: Registration, report: Report): void {
  for (const { propertyPath, joinColumns, junctionEntityMetadata } of metadata.relations) {
    if (isNamed(propertyPath, options.exclude)) continue
    const columns = [
      ...joinColumns.map((column) => column.referencedColumn),
      ...(junctionEntityMetadata?.columns ?? []),
    ]
    const names = [propertyPath, ...columns.map((column) => column?.propertyPath ?? '')]
    const name = names.find((one) => unusableNames.test(one))
    if (name === undefined) continue
    report(
      `"${propertyPath}" needs the name "${name}", which TypeORM cannot use in joins: names of relations, of properties that ` +
        'they refer to and of columns of junction tables must not have spaces, commas, parentheses or "=", and not be ' +
        '"__proto__"; rename it, or exclude the relation',
    )
  }
}

/**
 * Reports relations whose property has the name of the discriminator column. TypeORM would write the foreign key into this column, and
 * the record would have another type.
 */
export function checkDiscriminator({ relations, discriminatorColumn }: EntityMetadata, report: Report): void {
  for (const relation of relations) {
    if (relation.propertyPath !== discriminatorColumn?.propertyPath || isToMany(relation)) continue
    report(
      `"${relation.propertyPath}" is also the name of the discriminator column, so that TypeORM would write the foreign key ` +
        "into it: rename the property, or the column with @TableInheritance({ column: { name: '…' } })",
    )
  }
}

/** Whether TypeORM can join the relation. Its metadata has relations without an inverse side or junction table too. */
function isComplete({ isManyToMany, junctionEntityMetadata, inverseRelation }: RelationMetadata): boolean {
  return (isManyToMany ? junctionEntityMetadata : inverseRelation) !== undefined
}
