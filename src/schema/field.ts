import type { DataSource, EntityMetadata, RelationMetadata } from 'typeorm'
import type { Kind } from '../value/kind'
import { textKind } from '../value/text'
import { type ColumnMetadata, isBinary, kindOf } from './column-kind'

/** One column of a resource as requests and records know it. */
export interface Field {
  /** The JSON property: a foreign key `author` is `author_id` here. */
  readonly name: string
  /** The property of the entity: `author`. */
  readonly property: string
  readonly column: ColumnMetadata
  /** The column that says how TypeORM stores the values: for a foreign key, the one it refers to. */
  readonly valueColumn: ColumnMetadata
  /** The relation whose foreign key this is. */
  readonly relation: RelationMetadata | undefined
  readonly kind: Kind
  readonly nullable: boolean
  /** Whether POST must give it: not nullable, no default, not made by the database (D8). */
  readonly required: boolean
  /** Whether POST may give it. */
  readonly insertable: boolean
  /** Whether PUT may change it. Else it is accepted unchanged (D9). */
  readonly updatable: boolean
  /** Whether it holds the hash of what is written (D25). */
  readonly password: boolean
}

/** Whether an option names this column, by its own property or by its relation's. */
export function isNamed(column: ColumnMetadata, properties: readonly string[] = []): boolean {
  return properties.includes(propertyOf(column)) || properties.includes(column.propertyPath)
}

/** What a resource's options say of its fields, by property. */
export interface FieldOptions {
  readonly readOnly: readonly string[] | undefined
  /** The property that holds password hashes, in the entity of the site's users. */
  readonly password: string | undefined
}

/** Longest password that is hashed, in characters. */
const passwordLength = 256

/** The relation that a column is the foreign key of. */
export function relationOf(column: ColumnMetadata): RelationMetadata | undefined {
  return column.entityMetadata.relations.find((relation) => relation.joinColumns.includes(column))
}

/** The property by which the application names a column in its options: the relation's, for a foreign key. */
export function propertyOf(column: ColumnMetadata): string {
  return relationOf(column)?.propertyPath ?? column.propertyPath
}

/** Columns that TypeORM keeps for itself: tree bookkeeping, discriminators, columns of no property. */
function isInternal(column: ColumnMetadata): boolean {
  return (
    (column.isVirtual && relationOf(column) === undefined) ||
    column.isTreeLevel ||
    column.isNestedSetLeft ||
    column.isNestedSetRight ||
    column.isMaterializedPath
  )
}

/** The columns that can be fields at all. */
export function fieldColumns(metadata: EntityMetadata, dataSource: DataSource): readonly ColumnMetadata[] {
  return metadata.columns.filter((column) => !isInternal(column) && !isBinary(column, dataSource))
}

/** @returns a sentence when the column cannot be a field: why, and what to do */
export function buildField(column: ColumnMetadata, dataSource: DataSource, options: FieldOptions): Field | string {
  const relation = relationOf(column)
  const property = propertyOf(column)
  const hindrance = hindranceOf(column, relation)
  if (hindrance !== undefined) return `${property} ${hindrance}: exclude it`
  const password = property === options.password
  const kind = password ? textKind(passwordLength, 1) : kindOf(column.referencedColumn ?? column, dataSource)
  if (kind === undefined) {
    return `${property} has the column type ${dataSource.driver.normalizeType(column)}, which has no JSON form here: exclude it`
  }
  const insertable = !isMadeByDatabase(column) && column.isInsert && !isNamed(column, options.readOnly)
  return {
    name: relation === undefined ? column.propertyName : `${relation.propertyName}_id`,
    property,
    column,
    valueColumn: column.referencedColumn ?? column,
    relation,
    kind,
    nullable: column.isNullable,
    required: insertable && !column.isNullable && !hasDefault(column),
    insertable,
    updatable: insertable && column.isUpdate && !column.isPrimary,
    password,
  }
}

function hindranceOf(column: ColumnMetadata, relation: RelationMetadata | undefined): string | undefined {
  if (column.embeddedMetadata !== undefined) return 'is in an embedded entity, which is not supported yet'
  if (column.isVirtualProperty) return 'is a virtual column, which is not supported yet'
  if (column.isArray) return 'is an array column, which is not supported yet'
  if (relation !== undefined && relation.joinColumns.length > 1) {
    return 'refers by several columns, which is not supported yet'
  }
  if (column.propertyName.includes('__')) return 'has two underscores in a row, which part the names of a filter'
  return undefined
}

function isMadeByDatabase(column: ColumnMetadata): boolean {
  return (
    column.isGenerated ||
    column.asExpression !== undefined ||
    column.isCreateDate ||
    column.isUpdateDate ||
    column.isDeleteDate ||
    column.isVersion
  )
}

/** A default of the database, or of the class: `published = false`. */
function hasDefault(column: ColumnMetadata): boolean {
  if (column.default !== undefined && column.default !== null) return true
  return column.getEntityValue(column.entityMetadata.create()) !== undefined
}
