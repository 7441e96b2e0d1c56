import type { EntityMetadata, ObjectLiteral } from 'typeorm'

/*
 * Classes of TypeORM that it does not export by name, or exports in one of the supported versions only.
 */

export type ColumnMetadata = EntityMetadata['columns'][number]
export type RelationMetadata = EntityMetadata['relations'][number]
export type EmbeddedMetadata = EntityMetadata['embeddeds'][number]

/** The child entities in the same table, under single-table inheritance. TypeORM's metadata also lists those with own tables. */
export function childrenOf({ childEntityMetadatas, tablePath }: EntityMetadata): readonly EntityMetadata[] {
  return childEntityMetadatas.filter((child) => child.tableType === 'entity-child' && child.tablePath === tablePath)
}

/** Whether a query computes the values, which may then be of another type than the declared one. */
export function isComputed({ isVirtualProperty, entityMetadata }: ColumnMetadata): boolean {
  return isVirtualProperty || isView(entityMetadata)
}

/** Whether a view is read, which has no indexes, and may compute each row from many others. */
export function isView({ tableType }: EntityMetadata): boolean {
  return tableType === 'view'
}

/**
 * The metadata of a relation with the columns of its foreign key. Under single-table inheritance, TypeORM sets the columns of
 * a relation of an embedded entity only in the metadata of the root: each child has a copy of the relation without columns. A
 * join of this copy would have no condition, so every record would be related to every other one.
 */
export function withJoinColumns(relation: RelationMetadata): RelationMetadata {
  const { joinColumns, embeddedMetadata, entityMetadata, propertyPath } = relation
  if (joinColumns.length > 0 || embeddedMetadata === undefined) return relation
  const root: EntityMetadata | undefined = entityMetadata.parentEntityMetadata
  return root?.relations.find((other) => other.propertyPath === propertyPath) ?? relation
}

/**
 * The value of a column in an entity. If the column is the foreign key of a lazy relation without a related entity, TypeORM's
 * `getEntityValue` calls the getter of the relation. The getter starts a query that nobody waits for, so that an error of it
 * ends the process, and the value is `undefined` instead of `null`. Relations of embedded entities have no such getter.
 */
export function entityValue(column: ColumnMetadata, entity: ObjectLiteral): unknown {
  const { isVirtual, relationMetadata: relation, referencedColumn } = column
  const isLazy = isVirtual && relation?.isLazy === true && relation.embeddedMetadata === undefined
  if (!isLazy || referencedColumn === undefined) return column.getEntityValue(entity)
  const related: unknown = relation.getEntityValue(entity)
  return typeof related === 'object' && related !== null ? entityValue(referencedColumn, related) : related
}
