import { type DataSource, type EntityMetadata, getMetadataArgsStorage } from 'typeorm'
import { isBinary } from './column-value-type'
import type { ColumnMetadata, RelationMetadata } from './metadata'
import { endOfReferences } from './stored-column'

/** The property by which a column is called: the relation's, for a foreign key. */
export function propertyOf(column: ColumnMetadata): string {
  const { relationMetadata: relation } = column
  // A column of a foreign key of several that is declared has a name of its own.
  if (relation === undefined || (relation.joinColumns.length > 1 && !column.isVirtual)) return column.propertyPath
  return relation.propertyPath
}

/** Names in JSON, by property. */
export type Renaming = Readonly<Record<string, string | undefined>>

/** Where the value of a property stands in a record, by the names it has there: `['author_id']`. */
export function jsonPath(
  property: string,
  relation: RelationMetadata | undefined,
  rename: Renaming = {},
): readonly string[] {
  const names = property.split('.')
  const name = (Object.hasOwn(rename, property) ? rename[property] : undefined) ?? names.at(-1) ?? ''
  return [...names.slice(0, -1), relation === undefined ? name : `${name}_id`]
}

/** Whether an option names this property, or an embedded entity that it is in. */
export function isNamed(path: string, named: readonly string[] = []): boolean {
  // A text in place of a list is reported elsewhere.
  return [named].flat().some((name) => path === name || path.startsWith(`${name}.`))
}

/** Whether an option names this column, by its own property or by its relation's. */
export function isColumnNamed(column: ColumnMetadata, named?: readonly string[]): boolean {
  return isNamed(column.propertyPath, named) || isNamed(propertyOf(column), named)
}

/** Whether both are one column of one table, as a column and its copy in an entity that inherits the table. */
export function isSameColumn(one: ColumnMetadata, other: ColumnMetadata | undefined): boolean {
  return one.entityMetadata.tablePath === other?.entityMetadata.tablePath && one.databaseName === other.databaseName
}

/** The columns that can be fields at all. */
export function fieldColumns(metadata: EntityMetadata, dataSource: DataSource): readonly ColumnMetadata[] {
  return metadata.columns.filter(
    (column) => isDeclared(column, metadata) && !isInternal(column) && !isBinary(endOfReferences(column), dataSource),
  )
}

/** Whether the entity or a base of it declares the column. Under single-table inheritance it has its children's too. */
function isDeclared(column: ColumnMetadata, metadata: EntityMetadata): boolean {
  return column.embeddedMetadata !== undefined || isDeclaredBy(metadata, column.relationMetadata ?? column)
}

/**
 * Whether the class of the entity, or one that it extends, declares a column or a relation. Of a property that several
 * children of one table declare TypeORM knows only the first one's.
 */
export function isDeclaredBy(
  { target }: EntityMetadata,
  { target: declaredBy, propertyName }: Pick<ColumnMetadata, 'target' | 'propertyName'> | RelationMetadata,
): boolean {
  if (typeof target !== 'function' || typeof declaredBy !== 'function') return true
  const inherits = (base: unknown): boolean =>
    typeof base === 'function' && (target === base || target.prototype instanceof base)
  const { columns, relations } = getMetadataArgsStorage()
  const declares = (args: { readonly propertyName: string; readonly target: unknown }): boolean =>
    args.propertyName === propertyName && inherits(args.target)
  return inherits(declaredBy) || columns.some(declares) || relations.some(declares)
}

/** Columns that TypeORM keeps for itself: tree bookkeeping, discriminators, columns of no property. */
function isInternal(column: ColumnMetadata): boolean {
  return (
    (column.isVirtual && column.relationMetadata === undefined) ||
    column.isTreeLevel ||
    column.isNestedSetLeft ||
    column.isNestedSetRight ||
    column.isMaterializedPath
  )
}
