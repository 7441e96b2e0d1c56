import type { DataSource, RelationMetadata } from 'typeorm'
import type { Kind } from '../value/kind'
import { textKind } from '../value/text'
import { type ColumnMetadata, kindOf } from './column-kind'
import { isNamed, propertyOf } from './property'

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

/** What the options say of a column. */
export interface FieldOptions {
  readonly readOnly: readonly string[] | undefined
  /** Whether it holds password hashes. */
  readonly password: boolean
}

/** Longest password that is hashed, in characters. */
const passwordLength = 256

/** Why a column cannot be a field, reading on from its name; undefined when it can. */
export function hindranceOf(column: ColumnMetadata, dataSource: DataSource): string | undefined {
  const relation = column.relationMetadata
  if (column.embeddedMetadata !== undefined) return 'is in an embedded entity, which is not supported yet'
  if (column.isVirtualProperty) return 'is a virtual column, which is not supported yet'
  if (column.isArray) return 'is an array column, which is not supported yet'
  if (relation !== undefined && relation.joinColumns.length > 1) {
    return 'refers by several columns, which is not supported yet'
  }
  if (/__|_$/.test(relation?.propertyName ?? column.propertyName)) {
    return 'has two underscores in a row, or one at its end; these part the names of a filter'
  }
  if (kindOf(column.referencedColumn ?? column, dataSource) !== undefined) return undefined
  return `has the column type ${dataSource.driver.normalizeType(column)}, which has no JSON form here`
}

/** Compiles a column without hindrance. */
export function buildField(column: ColumnMetadata, dataSource: DataSource, options: FieldOptions): Field {
  const relation = column.relationMetadata
  const valueColumn = column.referencedColumn ?? column
  const kind = options.password ? textKind(passwordLength, 1) : kindOf(valueColumn, dataSource)
  if (kind === undefined) throw new TypeError(`${column.propertyPath} has a hindrance`)
  const insertable = !isMadeByDatabase(column) && column.isInsert && !isNamed(column, options.readOnly)
  return {
    name: relation === undefined ? column.propertyName : `${relation.propertyName}_id`,
    property: propertyOf(column),
    column,
    valueColumn,
    relation,
    kind,
    nullable: column.isNullable,
    required: insertable && !column.isNullable && !hasDefault(column),
    insertable,
    updatable: insertable && column.isUpdate && !column.isPrimary,
    constrained: relation === undefined || isConstrained(relation),
    password: options.password,
  }
}

/** A soft-deleted record, or one of another type in a shared table, is there for the database, and no record to us. */
function isConstrained({ foreignKeys, inverseEntityMetadata: target }: RelationMetadata): boolean {
  return foreignKeys.length > 0 && target.deleteDateColumn === undefined && target.tableType !== 'entity-child'
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
