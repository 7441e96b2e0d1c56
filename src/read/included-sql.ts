import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { selectFrom } from '../connection/compile'
import { tableSql } from '../dialect/table-sql'
import { type IncludedList, type Query, rootAlias, tableAlias } from '../query/query'
import type { RelationMetadata } from '../schema/metadata'
import { junctionColumnsOf } from '../schema/relations'
import type { StoredColumn } from '../schema/stored-column'
import { addJoin, refersTo } from './join-sql'
import type { ValueLimit } from './measure'
import { columnSql } from './row'
import { addColumns, addOrdering, type ConditionSql, matchingQuery } from './select-query'
import type { Store } from './store'

type Builder = SelectQueryBuilder<ObjectLiteral>

/** Alias of the table that leads to the related records: that of the parents, or the junction table. */
const parentAlias = tableAlias('parent')

/** Query of an included list, for certain parents. */
export interface IncludedQuery {
  readonly list: IncludedList
  /** Store of the parents. */
  readonly parent: Store
  readonly query: Query
  /** The key of the parent: its own columns, or those of the foreign key in the related records. */
  readonly parentKey: readonly StoredColumn[]
  /** Position of the first column of the parent's key in the rows. */
  readonly keyPosition: number
}

/** SQL of the condition on the related records of certain parents. */
export interface RelatedCondition {
  /** Condition on the related records. */
  readonly condition: ConditionSql
  /** Predicate that a related record has one of the parents. */
  readonly hasParent: string
}

/** Builds the SELECT of the list of a single parent, in its order, without LIMIT. */
export function singleListQuery(
  store: Store,
  included: IncludedQuery,
  { condition, hasParent }: RelatedCondition,
  valueLimit: ValueLimit,
): Builder {
  const { query } = included
  const builder = relatedQuery(store, included, condition).andWhere(hasParent)
  addOrdering(store, builder, query)
  addColumns(store, builder, query, valueLimit)
  addParentKey(store, builder, included, parentKeySql(store, included))
  return builder
}

/** Builds the SELECT that counts the related records of each parent. The key of the parent precedes the number. */
export function includedCountQuery(
  store: Store,
  included: IncludedQuery,
  { condition, hasParent }: RelatedCondition,
): Builder {
  const builder = relatedQuery(store, included, condition).andWhere(hasParent)
  const parentKey = parentKeySql(store, included)
  addParentKey(store, builder, included, parentKey)
  for (const key of parentKey) builder.addGroupBy(key)
  return builder.addSelect('COUNT(*)', String(included.keyPosition + included.parentKey.length))
}

/** Alias of the table that has the key of the parents. */
export function keyAlias({ foreignKey, relation }: IncludedList): string {
  return foreignKey === undefined || relation.isManyToMany ? parentAlias : rootAlias
}

/** Key of the parent in {@link relatedQuery}. */
export function parentKeySql({ dataSource }: Store, { list, parentKey }: IncludedQuery): readonly string[] {
  return parentKey.map((column) => columnSql(dataSource, column, keyAlias(list)))
}

/** Builds the joins and the condition: from the table that has the key of the parents, to the related records. */
export function relatedQuery(store: Store, { list, query }: IncludedQuery, condition: ConditionSql): Builder {
  const { dataSource } = store
  const { relation, foreignKey } = list
  if (foreignKey !== undefined) {
    const related = matchingQuery(store, query, condition)
    if (relation.isManyToMany) joinJunction(dataSource, related, relation)
    return related
  }
  const builder = selectFrom(dataSource, relation.entityMetadata.target, parentAlias)
  const join = { alias: rootAlias, from: parentAlias, relation, visible: undefined }
  addJoin(dataSource, builder, join, '', 'innerJoin')
  // The parents have been read, and may be soft-deleted records.
  return matchingQuery(store, query, condition, builder).withDeleted()
}

/** Joins the junction table of a many-to-many relation to the table of the related records. */
function joinJunction(dataSource: DataSource, builder: Builder, relation: RelationMetadata): void {
  const { junctionEntityMetadata: junction } = relation
  const columns = junctionColumnsOf(relation)
  if (junction === undefined || columns === undefined) return
  const { own, related } = columns
  const names = [...own, ...related].map(({ databaseName }) => dataSource.driver.escape(databaseName))
  // As a subquery, because TypeORM might find an entity with the name of the table.
  const rows = `(SELECT ${names.join(', ')} FROM ${tableSql(dataSource, junction)})`
  builder.innerJoin(rows, parentAlias, refersTo(dataSource, related, parentAlias, rootAlias))
}

/** @param keySql SQL of each column of the parent's key */
export function addParentKey(
  { dialect }: Store,
  builder: Builder,
  { parentKey, keyPosition }: IncludedQuery,
  keySql: readonly string[],
): void {
  for (const [index, column] of parentKey.entries()) {
    builder.addSelect(dialect.selectSql(column, keySql[index] ?? ''), String(keyPosition + index))
  }
}
