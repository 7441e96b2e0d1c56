import type { EntityMetadata } from 'typeorm'
import { compositeType } from '../value/composite'
import { textType } from '../value/text'
import type { ValueType } from '../value/value-type'
import { type ColumnMetadata, entityValue, type RelationMetadata } from './metadata'
import { hasOption, jsonPath, listsColumn, propertyOf, type Renaming } from './property'
import type { StoredColumn } from './stored-column'

/** A field of a resource: a value with a name in requests and records. */
export interface Field {
  /**
   * Name in filters, orderings and errors: `title`, `author_id`, or `profile__city` for a field of an embedded entity.
   */
  readonly name: string
  /** Path of the value in a record: `['profile', 'city']`. */
  readonly path: readonly string[]
  /** Path of the entity's property: `author`, `profile.city`. */
  readonly property: string
  /** The columns of the value: several for a composite key and for a reference to one, otherwise one. */
  readonly columns: readonly StoredColumn[]
  /** The relation whose foreign key the field is; undefined for other fields. */
  readonly relation: RelationMetadata | undefined
  /** If there are several columns, values are arrays. */
  readonly valueType: ValueType
  readonly nullable: boolean
  /** Whether a POST body must contain it: not nullable, no default, not generated (specification: Required fields). */
  readonly required: boolean
  /** Whether a POST body may contain it. */
  readonly insertable: boolean
  /**
   * Whether PUT may change it. If not, a PUT body may contain the stored value only
   * (specification: Sending back what was read).
   */
  readonly updatable: boolean
  /**
   * Whether the database alone rejects a foreign key that refers to no record (specification: Foreign keys). True for
   * fields that are not foreign keys.
   */
  readonly constrained: boolean
  /** Whether it is a password, which is hashed before it is stored (specification: Users). */
  readonly password: boolean
}

/** Options that {@link buildField} applies. */
export interface FieldOptions {
  readonly readOnly?: readonly string[]
  readonly rename?: Renaming
  /** Whether the column stores password hashes. */
  readonly password: boolean
  /** Metadata of the resource's entity, whose class may declare a column of a shared table in its own way. */
  readonly metadata: EntityMetadata
  /** Whether an INSERT returns the key, so that it can be a default of the database. */
  readonly returnsKeys: boolean
}

/** Value type of passwords in bodies: at most 256 characters. */
export const passwordType = textType(256, 1)

/**
 * Builds a field of one column, or of all columns of a foreign key.
 * @param declared whether the entity declares columns of a composite foreign key as properties. These are fields of
 * their own, and the foreign key is written through them only.
 */
export function buildField(
  stored: readonly StoredColumn[],
  { readOnly, rename, password, metadata, returnsKeys }: FieldOptions,
  declared = false,
): Field {
  const columns = stored.map(({ column }) => column)
  const [first] = stored
  if (first === undefined) throw new TypeError('a field must have at least one column')
  const relation = columns.length > 1 ? first.column.relationMetadata : relationOf(first.column)
  const property = relation?.propertyPath ?? propertyOf(first.column)
  const path = jsonPath(property, relation, rename)
  const insertable =
    !declared && columns.every((column) => isInsertable(metadata, column) && !listsColumn(column, readOnly))
  const nullable = columns.some((column) => column.isNullable)
  return {
    name: path.join('__'),
    path,
    property,
    columns: stored,
    relation,
    valueType: password ? passwordType : valueTypeOfColumns(stored, first),
    nullable,
    // A root has no parent, so the parent of a tree node is never required.
    required:
      insertable && !nullable && !relation?.isTreeParent && !columns.every((column) => hasDefault(column, returnsKeys)),
    insertable,
    updatable: insertable && columns.every((column) => hasOption(metadata, column, 'update') && !column.isPrimary),
    constrained: relation === undefined || isConstrained(relation),
    password,
  }
}

/** Names of the embedded entities that contain a field: `a` and `a__b` for the path `['a', 'b', 'c']`. */
export function prefixesOf(path: readonly string[]): readonly string[] {
  return path.slice(0, -1).map((_, index) => path.slice(0, index + 1).join('__'))
}

/** The value type of a field with these columns. @param first the first of them */
export function valueTypeOfColumns(columns: readonly StoredColumn[], first: StoredColumn): ValueType {
  return columns.length === 1 ? first.valueType : compositeType(columns.map((column) => column.valueType))
}

/** Builds the field `id`, which every record has, from the columns of the key. */
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

/** The relation whose foreign key consists of this column alone; undefined for other columns. */
export function relationOf(column: ColumnMetadata): RelationMetadata | undefined {
  return column.relationMetadata?.joinColumns.length === 1 ? column.relationMetadata : undefined
}

/**
 * Whether the service relies on the database's constraint on a foreign key. False if there is none, and if the target
 * has soft-deleted rows or is a child under single-table inheritance: the constraint accepts rows that are not records of
 * the target. Also false for the parent of a tree node, which is read before the write anyway, to compute the node's
 * position in the tree.
 */
function isConstrained({ foreignKeys, inverseEntityMetadata: target, isTreeParent }: RelationMetadata): boolean {
  const isChecked = foreignKeys.length > 0 && !isTreeParent
  return isChecked && target.deleteDateColumn === undefined && target.tableType !== 'entity-child'
}

function isInsertable(metadata: EntityMetadata, column: ColumnMetadata): boolean {
  const isGeneratedValue =
    column.isGenerated ||
    column.isVirtualProperty ||
    column.asExpression !== undefined ||
    column.isCreateDate ||
    column.isUpdateDate ||
    column.isDeleteDate ||
    column.isVersion ||
    column.isDiscriminator
  return hasOption(metadata, column, 'insert') && !isGeneratedValue
}

/**
 * Whether a column has a default in the database or in the class: `published = false`. A key in the database must be returned by
 * the INSERT: otherwise the new record could not be found.
 */
function hasDefault(column: ColumnMetadata, returnsKeys: boolean): boolean {
  const isUsable = returnsKeys || !column.isPrimary
  if (isUsable && column.default !== undefined && column.default !== null) return true
  const value: unknown = entityValue(column, column.entityMetadata.create())
  return value !== undefined && value !== null
}
