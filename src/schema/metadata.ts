import type { EntityMetadata } from 'typeorm'

/*
 * TypeORM's own classes, which it does not export by name, or does in one of its lines only.
 */

export type ColumnMetadata = EntityMetadata['columns'][number]
export type RelationMetadata = EntityMetadata['relations'][number]
