import { isDeepStrictEqual } from 'node:util'
import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { ColumnMetadata, RelationMetadata } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'
import { hasProperty, newKeyEntity, setKey, setRelated } from './entity'
import type { Row } from './row'

/**
 * Sets to-one relations of an entity to entities that have only the key of the related record, or to null. TypeORM's
 * `save` does the same for `event.databaseEntity`. A related entity that already has this key stays as it is.
 * @param row may lack hidden columns; their relations are left unchanged
 */
export function setRelatedKeys(
  entity: ObjectLiteral,
  { entityColumns }: ResourceView,
  row: Row,
  relations: readonly RelationMetadata[],
): void {
  const readColumns = entityColumns.slice(0, row.length)
  for (const relation of relations) {
    // The class of a record has columns of its own under single-table inheritance: their names are the same.
    const indexes = relation.joinColumns.map(({ databaseName }) =>
      readColumns.findIndex(({ column }) => column.databaseName === databaseName),
    )
    if (indexes.includes(-1)) continue
    const key = indexes.map((index) => row[index] ?? null)
    if (!hasKey(relation, relation.getEntityValue(entity), key)) setRelated(entity, relation, relatedOf(relation, key))
  }
}

/**
 * The to-one relations whose foreign keys belong to them alone: no column has a property of its own, such as `invoiceId`,
 * or is part of another relation. For the others, TypeORM would write the key of the related entity even if a listener
 * has changed only the property.
 */
export function relationsWithOwnKey({ relationsWithJoinColumns: all }: EntityMetadata): readonly RelationMetadata[] {
  const isOwn = (column: ColumnMetadata): boolean =>
    !hasProperty(column) && all.filter(({ joinColumns }) => joinColumns.includes(column)).length === 1
  return all.filter(({ joinColumns }) => joinColumns.every(isOwn))
}

/** @param key values of the join columns */
function relatedOf(relation: RelationMetadata, key: readonly unknown[]): ObjectLiteral | null {
  if (key.includes(null)) return null
  const related = newKeyEntity(relation)
  for (const [index, { referencedColumn }] of relation.joinColumns.entries()) {
    if (referencedColumn) setKey(related, referencedColumn, key[index])
  }
  return related
}

function hasKey({ joinColumns }: RelationMetadata, related: unknown, key: readonly unknown[]): boolean {
  if (typeof related !== 'object' || related === null) return false
  return joinColumns.every(({ referencedColumn }, index) =>
    isDeepStrictEqual(referencedColumn?.getEntityValue(related), key[index]),
  )
}
