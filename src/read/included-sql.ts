import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { selectFrom } from '../connection/compile'
import { type IncludedList, type Query, rootAlias, tableAlias } from '../query/query'
import type { StoredColumn } from '../schema/stored-column'
import { addJoin } from './join-sql'
import type { ValueLimit } from './measure'
import { keyName } from './related-sql'
import { columnSql } from './row'
import {
  addColumns,
  addIncludedJoins,
  addOrdering,
  type ConditionSql,
  matchingQuery,
  orderingSql,
} from './select-query'
import type { Store } from './store'

type Builder = SelectQueryBuilder<ObjectLiteral>

/** Alias of the table that has the relation of an included list. */
const parentAlias = tableAlias('parent')
/** Alias of the numbered keys of the related records in {@link includedQuery}. */
const numberedAlias = tableAlias('numbered')
/** Name of the position of a related record in its list, from 1. */
const positionName = tableAlias('position')

/** Query of an included list, for certain parents. */
export interface IncludedQuery {
  readonly list: IncludedList
  readonly query: Query
  /** The key of the parent: its own columns, or those of the foreign key in the related records. */
  readonly parentKey: readonly StoredColumn[]
  /** Position of the first column of the parent's key in the rows. */
  readonly keyPosition: number
}

/** Builds the SELECT of the list of a single parent, in its order, without LIMIT. */
export function singleListQuery(
  store: Store,
  included: IncludedQuery,
  condition: ConditionSql,
  valueLimit: ValueLimit,
): Builder {
  const { query } = included
  const builder = relatedQuery(store, included, condition)
  addOrdering(store, builder, query)
  addColumns(store, builder, query, valueLimit)
  addParentKey(store, builder, included, (column) => columnSql(store.dataSource, column, keyAlias(included.list)))
  return builder
}

/**
 * Builds the SELECT of the lists of several parents, each in its order, without LIMIT. A subquery numbers the keys of the
 * related records of each parent, and the outer query reads the rows of the first ones: the database then sorts only keys,
 * not whole rows.
 * @param maxPosition placeholder for the number of rows of one list
 */
export function includedQuery(
  store: Store,
  included: IncludedQuery,
  condition: ConditionSql,
  valueLimit: ValueLimit,
  maxPosition: string,
): Builder {
  const { view, dataSource } = store
  const { driver } = dataSource
  const { list, query, parentKey } = included
  const inner = relatedQuery(store, included, condition)
  const parentKeys = parentKey.map((column) => columnSql(dataSource, column, keyAlias(list)))
  const keys = view.key.columns.map((column) => columnSql(dataSource, column, rootAlias))
  const order = orderingSql(store, query).map(
    ({ sql, direction, placement = '' }) => `${sql} ${direction} ${placement}`,
  )
  for (const [index, key] of [...keys, ...parentKeys].entries()) inner.addSelect(key, keyName(index))
  inner.addSelect(
    `ROW_NUMBER() OVER (PARTITION BY ${parentKeys.join(', ')} ORDER BY ${order.join(', ')})`,
    positionName,
  )
  const numbered = (name: string): string => `${driver.escape(numberedAlias)}.${driver.escape(name)}`
  const keysAreEqual = keys.map((key, index) => `${numbered(keyName(index))} = ${key}`)
  const builder = dataSource
    .createQueryBuilder()
    .select([])
    .from<ObjectLiteral>(`(${inner.getQuery()})`, numberedAlias)
    .leftJoin(view.metadata.target, rootAlias, keysAreEqual.join(' AND '), inner.getParameters())
    .where(`${numbered(positionName)} <= ${maxPosition}`)
    .orderBy(numbered(positionName))
  addIncludedJoins(store, builder, query, condition)
  addColumns(store, builder, query, valueLimit)
  addParentKey(store, builder, included, (_, index) => numbered(keyName(keys.length + index)))
  return builder
}

/** Builds the SELECT that counts the related records of each parent. The key of the parent precedes the number. */
export function includedCountQuery(store: Store, included: IncludedQuery, condition: ConditionSql): Builder {
  const builder = relatedQuery(store, included, condition)
  addParentKey(store, builder, included, (column) => columnSql(store.dataSource, column, keyAlias(included.list)))
  for (const column of included.parentKey)
    builder.addGroupBy(columnSql(store.dataSource, column, keyAlias(included.list)))
  return builder.addSelect('COUNT(*)', String(included.keyPosition + included.parentKey.length))
}

/** Alias of the table that has the key of the parents. */
export const keyAlias = ({ foreignKey }: IncludedList): string => (foreignKey === undefined ? parentAlias : rootAlias)

/** Builds the joins and the condition: from the table that has the relation, to the related records. */
function relatedQuery(store: Store, { list, query }: IncludedQuery, condition: ConditionSql): Builder {
  const { dataSource } = store
  const { relation, foreignKey } = list
  if (foreignKey !== undefined) return matchingQuery(store, query, condition)
  const builder = selectFrom(dataSource, relation.entityMetadata.target, parentAlias)
  const join = { alias: rootAlias, from: parentAlias, relation, visible: undefined }
  addJoin(dataSource, builder, join, '', 'innerJoin')
  return matchingQuery(store, query, condition, builder)
}

function addParentKey(
  store: Store,
  builder: Builder,
  { parentKey, keyPosition }: IncludedQuery,
  sqlOf: (column: StoredColumn, index: number) => string,
): void {
  for (const [index, column] of parentKey.entries()) {
    builder.addSelect(store.dialect.selectSql(column, sqlOf(column, index)), String(keyPosition + index))
  }
}
