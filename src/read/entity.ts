import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { ChangeSet } from '../query/query'
import type { Field } from '../schema/field'
import { type ColumnMetadata, entityValue, type RelationMetadata } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'
import { type Row, splitColumnValues } from './row'

/** Value for one column of an INSERT or UPDATE, as an entity holds it. */
export type ColumnValue = readonly [column: ColumnMetadata, value: unknown]

/** Creates an entity with these values. Other properties have the initial values of the class, as in `published = false`. */
export function newEntity({ metadata }: ResourceView, changes: ChangeSet): ObjectLiteral {
  const entity = metadata.create()
  assign(entity, changes)
  return entity
}

/** Creates the entity that TypeORM's repository would return for a row, with the columns that were read. */
export function toEntity(view: ResourceView, row: Row): ObjectLiteral {
  const entity = metadataOf(view, row).create()
  setColumns(entity, view, row)
  return entity
}

/**
 * Sets the columns of an entity to the values of a row. Other properties are left unchanged.
 * @param row values of `entityColumns`, or of only the first of them (`ResourceView.columns`)
 */
export function setColumns(entity: ObjectLiteral, { entityColumns }: ResourceView, row: Row): void {
  for (const [index, { column }] of entityColumns.slice(0, row.length).entries()) {
    if (hasProperty(column)) column.setEntityValue(entity, cloneValue(row[index]))
  }
}

/**
 * Copies objects, arrays and dates: a listener may change the value in the entity, and the row must stay as it was
 * read.
 */
function cloneValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cloneValue)
  if (value instanceof Date) return new Date(value)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cloneValue(member)]))
}

/** Sets properties of an entity. For a foreign key, it also sets the relation, to an entity that has only a key. */
export function assign(entity: ObjectLiteral, changes: ChangeSet): void {
  for (const [field, value] of changes) {
    const values = splitColumnValues(field, value)
    for (const [index, { column }] of field.columns.entries()) {
      if (hasProperty(column)) column.setEntityValue(entity, values[index])
    }
    if (field.relation === undefined) continue
    const related = value === null ? null : newKeyEntity(field.relation)
    for (const [index, { column }] of field.columns.entries()) {
      if (related !== null && column.referencedColumn) setKey(related, column.referencedColumn, values[index])
    }
    setRelated(entity, field.relation, related)
  }
}

/** Creates a related entity that will get only a key. Its constructor is not called, so it has no initial values. */
export function newKeyEntity({ inverseEntityMetadata: { target } }: RelationMetadata): ObjectLiteral {
  return typeof target === 'function' ? Object.create(target.prototype) : {}
}

/** Sets the related entity of a to-one relation. */
export function setRelated(entity: ObjectLiteral, relation: RelationMetadata, related: ObjectLiteral | null): void {
  // If the property already has an object, TypeORM merges the new value into it, and ignores null.
  if (relation.embeddedMetadata === undefined) entity[storedName(relation)] = undefined
  relation.setEntityValue(entity, related)
}

/** The property in which TypeORM stores the related entity. */
function storedName({ isLazy, propertyName }: RelationMetadata): string {
  return isLazy ? `__${propertyName}__` : propertyName
}

/** Whether an entity has values for all columns of a field. Null is a value, `undefined` is not. */
export function hasValue(entity: ObjectLiteral, { columns }: Field): boolean {
  return columns.every(({ column }) => entityValue(column, entity) !== undefined)
}

/**
 * The values of an entity by column, without those that are `undefined`, and without the discriminator: TypeORM sets it, and a
 * property with its name may have another meaning.
 * @param includesUndefined whether a column is included even if its value is `undefined`. Default: none is
 */
export function columnValues(
  metadata: EntityMetadata,
  entity: ObjectLiteral,
  includesUndefined?: (column: ColumnMetadata) => boolean,
): readonly ColumnValue[] {
  const values: ColumnValue[] = []
  for (const column of metadata.columns) {
    if (column.isDiscriminator) continue
    const value: unknown = column.isVirtualProperty ? undefined : entityValue(column, entity)
    if (value !== undefined || includesUndefined?.(column)) values.push([column, value])
  }
  return values
}

/** Metadata of the entity class of a row. Under single-table inheritance the discriminator decides. */
export function metadataOf({ metadata, entityColumns }: ResourceView, row: Row): EntityMetadata {
  const index = entityColumns.findIndex(({ column }) => column.isDiscriminator)
  if (index < 0) return metadata
  return metadata.childEntityMetadatas.find(({ discriminatorValue }) => discriminatorValue === row[index]) ?? metadata
}

/** Whether the entity has a property for the column. A foreign key that is declared only by its relation has none. */
export function hasProperty(column: ColumnMetadata): boolean {
  return !column.isVirtual
}

/** Sets a column of the key of a related entity. If the column belongs to a foreign key, it sets the relation instead. */
export function setKey(entity: ObjectLiteral, column: ColumnMetadata, value: unknown): void {
  const { relationMetadata: relation, referencedColumn } = column
  if (column.isVirtual && relation && referencedColumn) {
    const present: unknown = relation.getEntityValue(entity)
    const related = typeof present === 'object' && present !== null ? present : newKeyEntity(relation)
    setKey(related, referencedColumn, value)
    setRelated(entity, relation, related)
  } else column.setEntityValue(entity, value)
}

/** Sets a property by its path, such as `profile.city`. Creates missing objects of the path. */
export function setPath(object: ObjectLiteral, path: string, value: unknown): void {
  const names = path.split('.')
  const property = names.pop() ?? ''
  let target = object
  for (const name of names) target = target[name] ??= {}
  target[property] = value
}
