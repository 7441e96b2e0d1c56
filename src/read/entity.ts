import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { ChangeSet } from '../query/query'
import type { Field } from '../schema/field'
import type { ColumnMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { type Row, toValues } from './row'

/** A value for one column of a statement, as an entity holds it. */
export type ColumnValue = readonly [column: ColumnMetadata, value: unknown]

/** A new entity of these values, with what its class brings along, as `published = false`. */
export function newEntity({ metadata }: Resource, changes: ChangeSet): ObjectLiteral {
  const entity = metadata.create()
  assign(entity, changes)
  return entity
}

/** What TypeORM's repository would hand out for a row, with the columns that were read. */
export function toEntity(resource: Resource, row: Row): ObjectLiteral {
  const entity = metadataOf(resource, row).create()
  putRow(entity, resource, row)
  return entity
}

/** Puts what is stored into an entity; what is none of its columns stays. */
export function putRow(entity: ObjectLiteral, { entityColumns }: Resource, row: Row): void {
  for (const [index, { column }] of entityColumns.slice(0, row.length).entries()) {
    if (hasProperty(column)) column.setEntityValue(entity, apart(row[index]))
  }
}

/** What is in an entity may be changed in place: an object or array that the driver has handed out stays as it was. */
function apart(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(apart)
  if (value instanceof Date) return new Date(value)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, apart(member)]))
}

/** Puts values into an entity; a foreign key as the record it refers to, of which only the key is known. */
export function assign(entity: ObjectLiteral, changes: ChangeSet): void {
  for (const [field, value] of changes) {
    const values = toValues(field, value)
    for (const [index, { column }] of field.columns.entries()) {
      if (hasProperty(column)) column.setEntityValue(entity, values[index])
    }
    if (field.relation === undefined) continue
    const related = value === null ? null : field.relation.inverseEntityMetadata.create()
    for (const [index, { column }] of field.columns.entries()) {
      if (related !== null && column.referencedColumn) setKey(related, column.referencedColumn, values[index])
    }
    field.relation.setEntityValue(entity, related)
  }
}

/** Whether an entity has a value for a field. */
export function isIn(entity: ObjectLiteral, { columns }: Field): boolean {
  return columns.every(({ column }) => column.getEntityValue(entity) !== undefined)
}

/** The values that an entity has, column by column; `undefined` is none. */
export function columnValues(metadata: EntityMetadata, entity: ObjectLiteral): readonly ColumnValue[] {
  const values: ColumnValue[] = []
  for (const column of metadata.columns) {
    const value: unknown = column.isVirtualProperty ? undefined : column.getEntityValue(entity)
    if (value !== undefined) values.push([column, value])
  }
  return values
}

/** The entity of a row: under single-table inheritance that of its type. */
export function metadataOf({ metadata, entityColumns }: Resource, row: Row): EntityMetadata {
  const index = entityColumns.findIndex(({ column }) => column.isDiscriminator)
  if (index < 0) return metadata
  return metadata.childEntityMetadatas.find(({ discriminatorValue }) => discriminatorValue === row[index]) ?? metadata
}

/** Whether an entity holds the column's value without its relations: a foreign key that is not declared has no property. */
export function hasProperty(column: ColumnMetadata): boolean {
  return !column.isVirtual
}

/** The key of a related entity may be a foreign key in its turn. */
function setKey(entity: ObjectLiteral, column: ColumnMetadata, value: unknown): void {
  if (column.isVirtual && column.relationMetadata && column.referencedColumn) {
    const related = column.relationMetadata.inverseEntityMetadata.create()
    setKey(related, column.referencedColumn, value)
    column.relationMetadata.setEntityValue(entity, related)
  } else column.setEntityValue(entity, value)
}

/** Sets a property by its path, as `profile.city`. */
export function setPath(object: ObjectLiteral, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let at = object
  for (const name of names) at = at[name] ??= {}
  at[last] = value
}
