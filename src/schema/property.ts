import type { DataSource, EntityMetadata } from 'typeorm'
import { isBinary } from './column-value-type'
import { declarationsOf, inherits, type PropertyKind } from './declarations'
import { type ColumnMetadata, childrenOf, type EmbeddedMetadata, type RelationMetadata } from './metadata'
import { referencedValueColumn } from './stored-column'

/** The property path of a column. For a foreign key it is that of the relation. */
export function propertyOf(column: ColumnMetadata): string {
  const { relationMetadata: relation } = column
  // A column of a composite foreign key that the entity declares has a property of its own.
  if (relation === undefined || (relation.joinColumns.length > 1 && !column.isVirtual)) return column.propertyPath
  return relation.propertyPath
}

/** JSON names by property path. */
export type Renaming = Readonly<Record<string, string | undefined>>

/** The path of a property's value in a record: `['author_id']`, `['profile', 'city']`. */
export function jsonPath(
  property: string,
  relation: RelationMetadata | undefined,
  rename: Renaming = {},
): readonly string[] {
  const names = property.split('.')
  const name = (Object.hasOwn(rename, property) ? rename[property] : undefined) ?? names.at(-1) ?? ''
  return [...names.slice(0, -1), relation === undefined ? name : `${name}_id`]
}

/** Whether an option contains this property, or an embedded entity that contains it. */
export function isNamed(path: string, names: readonly string[] = []): boolean {
  // The application may have set a string instead of an array: build-resource.ts reports it.
  return [names].flat().some((name) => path === name || path.startsWith(`${name}.`))
}

/** Whether an option contains this column, by its own property or by that of a relation. */
export function listsColumn(column: ColumnMetadata, names?: readonly string[]): boolean {
  const paths = [column.propertyPath, propertyOf(column), ...relationsOfColumn(column)]
  return paths.some((path) => isNamed(path, names))
}

/**
 * Property paths of the relations whose foreign key consists of this column alone. If the column is part of several
 * relations, its metadata names only the one that is declared first.
 */
function relationsOfColumn(column: ColumnMetadata): readonly string[] {
  return column.entityMetadata.relations
    .filter(({ joinColumns: [first, ...others] }) => others.length === 0 && first && isSameColumn(column, first))
    .map(({ propertyPath }) => propertyPath)
}

/** The columns that an option covers by naming a property, an embedded entity or a relation. */
export function columnsOf({ columns }: EntityMetadata, property: string): readonly ColumnMetadata[] {
  return columns.filter((column) => listsColumn(column, [property]))
}

/** Whether an option can name a property: one with a column, an embedded entity or a relation. */
export function isPropertyOf(metadata: EntityMetadata, property: string): boolean {
  return (
    columnsOf(metadata, property).length > 0 ||
    metadata.relations.some(({ propertyPath }) => isNamed(propertyPath, [property]))
  )
}

/**
 * Whether both describe the same column of the same table. Entities that share a table have a copy of the metadata
 * each.
 */
export function isSameColumn(one: ColumnMetadata, other: ColumnMetadata | undefined): boolean {
  return one.entityMetadata.tablePath === other?.entityMetadata.tablePath && one.databaseName === other.databaseName
}

/** Whether at most one record has a value of the column. A unique index with a condition does not apply to all records. */
export function isUnique({ primaryColumns, uniques, indices }: EntityMetadata, column: ColumnMetadata): boolean {
  const isOnly = ([first, ...others]: readonly ColumnMetadata[]): boolean =>
    others.length === 0 && isSameColumn(column, first)
  const unconditional = indices.filter((index) => index.isUnique && !index.where)
  return isOnly(primaryColumns) || [...uniques, ...unconditional].some(({ columns }) => isOnly(columns))
}

/** The columns of an entity that can be fields: declared by it, not internal to TypeORM and not binary. */
export function fieldColumns(metadata: EntityMetadata, dataSource: DataSource): readonly ColumnMetadata[] {
  return metadata.columns.filter(
    (column) =>
      isDeclared(column, metadata) && !isInternal(column) && !isBinary(referencedValueColumn(column), dataSource),
  )
}

/**
 * Whether the entity or a base class declares the column. Under single-table inheritance, a parent's metadata has its
 * children's columns too.
 */
function isDeclared(column: ColumnMetadata, metadata: EntityMetadata): boolean {
  return isDeclaredBy(metadata, column.relationMetadata ?? column)
}

/**
 * Whether the class of the entity, or one that it extends, declares a column or a relation, or the embedded entity that
 * contains it. If several children under single-table inheritance declare the same property, TypeORM's metadata contains
 * only the first declaration.
 */
export function isDeclaredBy(metadata: EntityMetadata, property: ColumnMetadata | RelationMetadata): boolean {
  const { target: declaredBy, propertyName, embeddedMetadata } = property
  if (embeddedMetadata !== undefined) return isEmbeddedIn(metadata, embeddedMetadata)
  const { target } = metadata
  if (typeof target !== 'function' || typeof declaredBy !== 'function') return true
  const isDeclared = (kind: PropertyKind): boolean => declarationsOf(target, kind, propertyName, metadata).length > 0
  return inherits(target, declaredBy) || isDeclared('columns') || isDeclared('relations')
}

/**
 * Whether the class of the entity, or one that it extends, declares an embedded entity. TypeORM's metadata does not
 * contain the declaring class. Under single-table inheritance, a parent's metadata has the embedded entities of its
 * children, and that of a child has the foreign keys in those of the other children.
 */
function isEmbeddedIn(metadata: EntityMetadata, embedded: EmbeddedMetadata): boolean {
  const { propertyName } = embedded.embeddedMetadataTree[0] ?? embedded
  if (!metadata.embeddeds.some((own) => own.propertyName === propertyName)) return false
  const isParent = childrenOf(metadata).length > 0
  return !isParent || declarationsOf(metadata.target, 'embeddeds', propertyName, metadata).length > 0
}

/**
 * Whether an option of a column is not `false`. If a class declares a property again that a class that it extends, or
 * another child under single-table inheritance, has declared, TypeORM uses the options of the first declaration. So the
 * declaration of the column's own class is looked up, which is that of its embedded entity if it is in one.
 */
export function hasOption(
  metadata: EntityMetadata,
  column: ColumnMetadata,
  option: 'select' | 'insert' | 'update',
): boolean {
  const inMetadata = { select: column.isSelect, insert: column.isInsert, update: column.isUpdate }[option]
  const owner = column.embeddedMetadata?.type ?? metadata.target
  if (!inMetadata || column.target === owner) return inMetadata
  const declarations = declarationsOf(owner, 'columns', column.propertyName, metadata)
  // A class may override the declaration of one that it extends.
  const own = declarations.find(({ target }) => declarations.every((other) => inherits(target, other.target)))
  return Object(own?.options)[option] !== false
}

/** The mistake of an option that names a property that the entity does not have. */
export function unknownProperty(
  property: string,
  option: string,
  metadata: EntityMetadata,
  dataSource: DataSource,
): string {
  const properties = [...new Set(fieldColumns(metadata, dataSource).map(propertyOf))].join(', ')
  return `unknown property "${property}" in "${option}"; properties: ${properties}`
}

/** Whether only TypeORM uses the column: positions in trees, and columns without a property, such as discriminators. */
function isInternal(column: ColumnMetadata): boolean {
  return (
    (column.isVirtual && column.relationMetadata === undefined) ||
    column.isTreeLevel ||
    column.isNestedSetLeft ||
    column.isNestedSetRight ||
    column.isMaterializedPath
  )
}
