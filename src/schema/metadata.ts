import type { EntityMetadata } from 'typeorm'

/*
 * Classes of TypeORM that it does not export by name, or exports in one of the supported versions only.
 */

export type ColumnMetadata = EntityMetadata['columns'][number]
export type RelationMetadata = EntityMetadata['relations'][number]
export type EmbeddedMetadata = EntityMetadata['embeddeds'][number]

/** Whether a query computes the values, which may then be of another type than the declared one. */
export function isComputed({ isVirtualProperty, entityMetadata }: ColumnMetadata): boolean {
  return isVirtualProperty || entityMetadata.tableType === 'view'
}
