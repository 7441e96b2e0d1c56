import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { selectFrom } from '../connection/compile'
import { ApiError } from '../errors'
import { type Condition, type Join, type Query, rootAlias, tableAlias } from '../query/query'
import { addJoin, type JoinVisibility, viewTimeLimit } from './join-sql'
import { mayHaveNull, pageSortSql, sortedSql } from './keyset'
import { measuredSelection, type ValueLimit } from './measure'
import { keyName } from './related-sql'
import { columnSql } from './row'
import type { Store } from './store'

/** Condition of a query as SQL, with the parameters that do not depend on the request (discriminator values). */
export interface ConditionSql {
  /** Empty if there is no condition. */
  readonly sql: string
  readonly parameters: ObjectLiteral
  readonly joinVisibility: JoinVisibility
}

type Builder = SelectQueryBuilder<ObjectLiteral>

/** Alias of the keys of a page in {@link keysFirstQuery}. */
const pageAlias = tableAlias('page')

/** Builds the SELECT of a query, without LIMIT and OFFSET. */
export function selectQuery(store: Store, query: Query, condition: ConditionSql, valueLimit?: ValueLimit): Builder {
  const builder = orderedQuery(store, query, condition)
  addColumns(store, builder, query, valueLimit)
  return builder
}

/**
 * Builds the SELECT of a page whose keys a subquery selects. The outer query reads their rows: the database then sorts and skips
 * only keys, not whole rows with those of included records.
 * @param limitClause LIMIT and OFFSET of the page, as ` LIMIT :tr…_0 OFFSET :tr…_1`
 */
export function keysFirstQuery(
  store: Store,
  query: Query,
  condition: ConditionSql,
  limitClause: string,
  valueLimit: ValueLimit,
): Builder {
  const { view, dataSource } = store
  const { driver } = dataSource
  const keys = keyQuery(store, query, condition)
  const keysAreEqual = keyColumnsOf(store).map(
    (key, index) => `${driver.escape(pageAlias)}.${driver.escape(keyName(index))} = ${key}`,
  )
  const on = [viewTimeLimit(dataSource, view.metadata, rootAlias), ...keysAreEqual].filter(Boolean).join(' AND ')
  // An outer join makes the database start from the keys. For an inner join, SQLite would scan all rows and look up
  // each of them among the keys.
  const builder = dataSource
    .createQueryBuilder()
    .select([])
    .from<ObjectLiteral>(`(${keys.getQuery()}${limitClause})`, pageAlias)
  builder.leftJoin(view.metadata.target, rootAlias, on, keys.getParameters())
  addColumns(store, builder, query, valueLimit)
  addOrderedJoins(store, builder, query, condition)
  return builder
}

/** Adds the joins of the included records and of the ordering, and the ordering. */
export function addOrderedJoins(store: Store, builder: Builder, query: Query, condition: ConditionSql): void {
  const includedAliases = new Set([rootAlias, ...query.included.map(({ alias }) => alias)])
  const needsAllJoins = query.ordering.some(({ alias }) => !includedAliases.has(alias))
  addJoins(store, builder, needsAllJoins ? query.joins : includedJoinsOf(query), condition)
  addOrdering(store, builder, query)
}

/**
 * Builds the SELECT of the keys of a query for a subquery, without LIMIT and OFFSET. The keys have the types of their columns:
 * {@link selectQuery} reads some of them as text, with which the database cannot compare the columns.
 */
export function keyQuery(store: Store, query: Query, condition: ConditionSql): Builder {
  const builder = orderedQuery(store, withoutIncluded(query), condition)
  for (const [index, key] of keyColumnsOf(store).entries()) builder.addSelect(key, keyName(index))
  return builder
}

const keyColumnsOf = ({ view, dataSource }: Store): readonly string[] =>
  view.key.columns.map((column) => columnSql(dataSource, column, rootAlias))

/** Builds the joins, the condition and the ORDER BY of a query, without columns. */
function orderedQuery(store: Store, query: Query, condition: ConditionSql): Builder {
  const builder = matchingQuery(store, query, condition)
  addOrdering(store, builder, query)
  return builder
}

/**
 * A query without the joins that neither its condition nor its ordering needs. They are those of included records, of which
 * each row has one at most, so that the same rows match. With the conditions that these records are visible, a database does
 * not leave the joins out by itself: it then joins them to all rows that match, not only to those of the page.
 */
export function withoutIncluded<Q extends Query>(query: Q): Q {
  const { joins, where, ordering } = query
  const needed = new Set([...aliasesIn(where), ...ordering.map(({ alias }) => alias)])
  // A join comes after the one that it starts from.
  for (const { alias, from } of joins.toReversed()) if (needed.has(alias)) needed.add(from)
  return { ...query, joins: joins.filter(({ alias }) => needed.has(alias)), included: [] }
}

/** Aliases of the tables that a condition uses. */
function aliasesIn(condition: Condition): readonly string[] {
  switch (condition.type) {
    case 'compare':
      return [condition.on.alias]
    case 'match':
    case 'visible':
      return [condition.alias]
    case 'exists':
      return [condition.first.from, ...aliasesIn(condition.where)]
    case 'not':
      return aliasesIn(condition.condition)
    case 'and':
    case 'or':
      return condition.conditions.flatMap(aliasesIn)
    default:
      return [rootAlias]
  }
}

/** The joins of included records: those that a query needs whose subquery has the other joins. */
export function includedJoinsOf({ included, joins }: Query): readonly Join[] {
  const aliases = new Set(included.map(({ alias }) => alias))
  return joins.filter(({ alias }) => aliases.has(alias))
}

export function addJoins(store: Store, builder: Builder, joins: readonly Join[], condition: ConditionSql): void {
  for (const join of joins) addJoin(store.dataSource, builder, join, condition.joinVisibility.get(join))
}

/**
 * Builds the joins and the condition of a query, without columns and ORDER BY.
 * @param builder starts the SELECT with the table of the query's resource, as `rootAlias`
 */
export function matchingQuery(
  store: Store,
  query: Query,
  condition: ConditionSql,
  builder = selectFrom(store.dataSource, store.view.metadata.target, rootAlias),
): Builder {
  const { sql, parameters } = condition
  addJoins(store, builder, query.joins, condition)
  if (sql !== '') builder.andWhere(sql)
  // After the joins: TypeORM adds the condition that records are not deleted to those that are added before.
  if (query.readsDeleted) builder.withDeleted()
  // The conditions of the joins have parameters too.
  return builder.setParameters(parameters)
}

/**
 * Builds the SELECT that counts the rows of a query.
 * @param limitClause limits the number of counted rows, as ` LIMIT :tr…_0`; empty to count all of them
 */
export function countQuery(store: Store, query: Query, condition: ConditionSql, limitClause: string): Builder {
  const matching = matchingQuery(store, query, condition)
  if (limitClause === '') return matching.addSelect('COUNT(*)', '0')
  const rows = matching.addSelect('1', keyName(0))
  return store.dataSource
    .createQueryBuilder()
    .select('COUNT(*)', '0')
    .from<ObjectLiteral>(`(${rows.getQuery()}${limitClause})`, tableAlias('counted'))
    .setParameters(rows.getParameters())
}

/** Adds the columns of a query. @throws {ApiError} `bad-query` if the included records have too many */
export function addColumns(store: Store, builder: Builder, query: Query, valueLimit: ValueLimit): void {
  const columns = measuredSelection(store, query, valueLimit)
  const { maxColumns } = store.dialect
  // PostgreSQL counts the sort columns too.
  const count = columns.length + query.ordering.length
  if (query.included.length > 0 && count > maxColumns) {
    throw new ApiError(
      'bad-query',
      `include needs ${count} columns, but the database reads at most ${maxColumns}: include fewer relations, or select their fields with fields:(…)`,
    )
  }
  for (const [expression, name] of columns) builder.addSelect(expression, name)
}

export function addOrdering(store: Store, builder: Builder, query: Query): void {
  for (const { sql, direction, placement } of orderingSql(store, query)) builder.addOrderBy(sql, direction, placement)
}

/** Member of ORDER BY. */
export interface SortedBy {
  readonly sql: string
  readonly direction: 'ASC' | 'DESC'
  readonly placement: 'NULLS FIRST' | 'NULLS LAST' | undefined
}

export function orderingSql(store: Store, { ordering, cursor }: Query): readonly SortedBy[] {
  const { areNullsLeast, supportsNullsOrder } = store.dialect
  return ordering.flatMap((sortColumn): readonly SortedBy[] => {
    const { descending, nulls } = sortColumn
    const sql = cursor === undefined ? pageSortSql(store, sortColumn) : sortedSql(store, sortColumn)
    const direction = descending ? 'DESC' : 'ASC'
    const mustPlaceNulls = mayHaveNull(sortColumn) && !(areNullsLeast && descending === (nulls === 'last'))
    if (!mustPlaceNulls) return [{ sql, direction, placement: undefined }]
    if (supportsNullsOrder) return [{ sql, direction, placement: nulls === 'last' ? 'NULLS LAST' : 'NULLS FIRST' }]
    const nullsFirst = {
      sql: `(${sql} IS NULL)`,
      direction: nulls === 'last' ? 'ASC' : 'DESC',
      placement: undefined,
    } as const
    return [nullsFirst, { sql, direction, placement: undefined }]
  })
}
