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
  /** Whether the database itself refuses a foreign key that points to nothing (D10). */
  readonly constrained: boolean
  /** Whether it holds the hash of what is written (D25). */
  readonly password: boolean
}

/** The names an option may use for a column: its own property, its relation's, that of the embedded entity it is in. */
export function optionNames(column: ColumnMetadata): readonly string[] {
  const [outermost = ''] = column.propertyPath.split('.')
  return [propertyOf(column), column.propertyPath, outermost]
}

/** Whether an option names this column. */
export function isNamed(column: ColumnMetadata, properties: readonly string[] = []): boolean {
  return optionNames(column).some((name) => properties.includes(name))
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
  return metadata.columns.filter(
    (column) => isDeclared(column, metadata) && !isInternal(column) && !isBinary(column, dataSource),
  )
}

/** Whether the entity or a base of it declares the column. Under single-table inheritance it has its children's too. */
function isDeclared(column: ColumnMetadata, { target }: EntityMetadata): boolean {
  if (column.embeddedMetadata !== undefined) return true
  const declaredBy = relationOf(column)?.target ?? column.target
  if (typeof target !== 'function' || typeof declaredBy !== 'function') return true
  return target === declaredBy || target.prototype instanceof declaredBy
}

/**
 * @param password whether it holds password hashes
 * @returns a sentence when the column cannot be a field: why, and what to do
 */
export function buildField(
  column: ColumnMetadata,
  dataSource: DataSource,
  readOnly: readonly string[] | undefined,
  password: boolean,
): Field | string {
  const relation = relationOf(column)
  const property = propertyOf(column)
  const hindrance = hindranceOf(column, relation)
  if (hindrance !== undefined) return `${property} ${hindrance}: exclude it`
  const kind = password ? textKind(passwordLength, 1) : kindOf(column.referencedColumn ?? column, dataSource)
  if (kind === undefined) {
    return `${property} has the column type ${dataSource.driver.normalizeType(column)}, which has no JSON form here: exclude it`
  }
  const insertable = !isMadeByDatabase(column) && column.isInsert && !isNamed(column, readOnly)
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
    constrained: relation === undefined || isConstrained(relation),
    password,
  }
}

/** A soft-deleted record is still there for the database, and no record to us. */
function isConstrained({ foreignKeys, inverseEntityMetadata }: RelationMetadata): boolean {
  return foreignKeys.length > 0 && inverseEntityMetadata.deleteDateColumn === undefined
}

function hindranceOf(column: ColumnMetadata, relation: RelationMetadata | undefined): string | undefined {
  if (column.embeddedMetadata !== undefined) return 'is in an embedded entity, which is not supported yet'
  if (column.isVirtualProperty) return 'is a virtual column, which is not supported yet'
  if (column.isArray) return 'is an array column, which is not supported yet'
  if (relation !== undefined && relation.joinColumns.length > 1) {
    return 'refers by several columns, which is not supported yet'
  }
  if (/__|_$/.test(relation?.propertyName ?? column.propertyName)) {
    return 'has two underscores in a row, or one at its end; these part the names of a filter'
  }
  return undefined
}

function isMadeByDatabase(column: ColumnMetadata): boolean {
  return (
    column.isGenerated ||
    column.asExpression !== undefined ||
    column.isCreateDate ||
    column.isUpdateDate ||
    column.isDeleteDate ||
    column.isVersion ||
    column.isDiscriminator
  )
}

/** A default of the database, or of the class: `published = false`. */
function hasDefault(column: ColumnMetadata): boolean {
  if (column.default !== undefined && column.default !== null) return true
  const value: unknown = column.getEntityValue(column.entityMetadata.create())
  return value !== undefined && value !== null
}
