import { compositeType } from '../value/composite'
import { textType } from '../value/text'
import type { ValueType } from '../value/value-type'
import type { ColumnMetadata, RelationMetadata } from './metadata'
import { isColumnNamed, jsonPath, propertyOf, type Renaming } from './property'
import type { StoredColumn } from './stored-column'

/** One value of a resource as requests and records know it. */
export interface Field {
  /** How filters, orderings and errors call it: `title`, `author_id`, and `profile__city` for one in an embedded entity. */
  readonly name: string
  /** Where it stands in a record: `['profile', 'city']`. */
  readonly path: readonly string[]
  /** The property of the entity: `author`, `profile.city`. */
  readonly property: string
  /** Its columns: one; several for a key, or a reference to a key, of several. */
  readonly columns: readonly StoredColumn[]
  /** The relation whose foreign key this is. */
  readonly relation: RelationMetadata | undefined
  /** Of several columns the value is an array. */
  readonly valueType: ValueType
  readonly nullable: boolean
  /** Whether POST must give it: not nullable, no default, not made by the database (specification: Required fields). */
  readonly required: boolean
  /** Whether POST may give it. */
  readonly insertable: boolean
  /** Whether PUT may change it. Else it is accepted unchanged (specification: Sending back what was read). */
  readonly updatable: boolean
  /** Whether the database itself refuses a foreign key that points to nothing (specification: Foreign keys). */
  readonly constrained: boolean
  /** Whether it holds the hash of what is written (specification: Users). */
  readonly password: boolean
}

/** What the options say of a field. */
export interface FieldOptions {
  readonly readOnly?: readonly string[]
  readonly rename?: Renaming
  /** Whether it holds password hashes. */
  readonly password: boolean
}

/** Longest password that is hashed, in characters. */
const passwordLength = 256

/**
 * Compiles a field of one column, or of all columns of a foreign key.
 * @param declared whether the columns of a foreign key of several are fields of their own, by which it is written
 */
export function buildField(
  stored: readonly StoredColumn[],
  { readOnly, rename, password }: FieldOptions,
  declared = false,
): Field {
  const columns = stored.map(({ column }) => column)
  const [first] = stored
  if (first === undefined) throw new TypeError('a field has a column')
  const relation = columns.length > 1 ? first.column.relationMetadata : relationOf(first.column)
  const property = relation?.propertyPath ?? propertyOf(first.column)
  const path = jsonPath(property, relation, rename)
  const insertable = !declared && columns.every((column) => isInsertable(column) && !isColumnNamed(column, readOnly))
  const nullable = columns.some((column) => column.isNullable)
  return {
    name: path.join('__'),
    path,
    property,
    columns: stored,
    relation,
    valueType: password ? textType(passwordLength, 1) : valueTypeOfAll(stored, first),
    nullable,
    // TypeORM gives the parent of a root no column that may not be null.
    required: insertable && !nullable && !relation?.isTreeParent && !columns.every(hasDefault),
    insertable,
    updatable: insertable && columns.every((column) => column.isUpdate && !column.isPrimary),
    constrained: relation === undefined || isConstrained(relation),
    password,
  }
}

/** The kind of a value that takes these columns. */
export function valueTypeOfAll(columns: readonly StoredColumn[], first: StoredColumn): ValueType {
  return columns.length === 1 ? first.valueType : compositeType(columns.map((column) => column.valueType))
}

/** The key under the name that every record has for it. */
export function buildIdField(columns: readonly StoredColumn[], valueType: ValueType): Field {
  return {
    name: 'id',
    path: ['id'],
    property: columns.map(({ column }) => propertyOf(column)).join(', '),
    columns,
    relation: undefined,
    valueType,
    nullable: false,
    required: false,
    insertable: false,
    updatable: false,
    constrained: true,
    password: false,
  }
}

/** The relation whose one foreign key a column is. */
export function relationOf(column: ColumnMetadata): RelationMetadata | undefined {
  return column.relationMetadata?.joinColumns.length === 1 ? column.relationMetadata : undefined
}

/**
 * A soft-deleted record, or one of another type in a shared table, is there for the database, and no record to us. The parent
 * of a node is looked up before the write, which reads its position in the tree.
 */
function isConstrained({ foreignKeys, inverseEntityMetadata: target, isTreeParent }: RelationMetadata): boolean {
  const isWatched = foreignKeys.length > 0 && !isTreeParent
  return isWatched && target.deleteDateColumn === undefined && target.tableType !== 'entity-child'
}

function isInsertable(column: ColumnMetadata): boolean {
  const isMadeByDatabase =
    column.isGenerated ||
    column.isVirtualProperty ||
    column.asExpression !== undefined ||
    column.isCreateDate ||
    column.isUpdateDate ||
    column.isDeleteDate ||
    column.isVersion ||
    column.isDiscriminator
  return column.isInsert && !isMadeByDatabase
}

/** A default of the database, or of the class: `published = false`. */
function hasDefault(column: ColumnMetadata): boolean {
  if (column.default !== undefined && column.default !== null) return true
  const value: unknown = column.getEntityValue(column.entityMetadata.create())
  return value !== undefined && value !== null
}
