import type { DataSource, EntityMetadata, ObjectLiteral } from 'typeorm'
import type { ChangeSet } from '../plan/plan'
import type { Field } from '../schema/field'
import type { ColumnMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { endOfReferences } from '../schema/stored-column'
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
  for (const [index, { column }] of resource.row.entries()) {
    if (hasProperty(column)) column.setEntityValue(entity, row[index])
  }
  return entity
}

/** The entity of a row with these changes. */
export function updatedEntity(resource: Resource, row: Row, changes: ChangeSet): ObjectLiteral {
  const entity = toEntity(resource, row)
  assign(entity, changes)
  return entity
}

/** The values of an entity's columns; those that no property holds are as they were in the row. */
export function readEntity(resource: Resource, entity: ObjectLiteral, row: Row): Row {
  return resource.row.map(({ column }, index) => (hasProperty(column) ? column.getEntityValue(entity) : row[index]))
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
  return metadata.columns
    .filter((column) => !column.isVirtualProperty)
    .map((column): ColumnValue => [column, column.getEntityValue(entity)])
    .filter(([, value]) => value !== undefined)
}

/** Values by field as values by column. */
export function changedValues(changes: ChangeSet): readonly ColumnValue[] {
  return [...changes].flatMap(([field, value]) => {
    const values = toValues(field, value)
    return field.columns.map(({ column }, index): ColumnValue => [column, values[index]])
  })
}

/** The values as TypeORM's builders take them: by property, a foreign key in place of the entity it refers to. */
export function toValueSet({ driver }: DataSource, values: readonly ColumnValue[]): ObjectLiteral {
  const set: ObjectLiteral = {}
  for (const [column, value] of values) {
    const end = endOfReferences(column)
    // TypeORM does not apply the transformer of the key to a foreign key.
    const isForeign = end !== column && end.transformer !== undefined && column.transformer === undefined
    const stored = isForeign ? driver.preparePersistentValue(value, end) : value
    const { relationMetadata: relation, referencedColumn } = column
    const isOfSeveral = column.isVirtual && relation !== undefined && relation.joinColumns.length > 1
    setPath(
      set,
      isOfSeveral ? `${relation.propertyPath}.${referencedColumn?.propertyName}` : column.propertyPath,
      stored,
    )
  }
  return set
}

/** The entity of a row: under single-table inheritance that of its type. */
export function metadataOf({ metadata, row: columns }: Resource, row: Row): EntityMetadata {
  const index = columns.findIndex(({ column }) => column.isDiscriminator)
  return metadata.childEntityMetadatas.find(({ discriminatorValue }) => discriminatorValue === row[index]) ?? metadata
}

/** Whether an entity holds the column's value without its relations: a foreign key that is not declared has no property. */
function hasProperty(column: ColumnMetadata): boolean {
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

function setPath(object: ObjectLiteral, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let at = object
  for (const name of names) at = at[name] ??= {}
  at[last] = value
}
