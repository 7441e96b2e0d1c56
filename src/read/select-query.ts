import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { parameterPrefix, selectFrom } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import { type Join, type Query, rootAlias, type Some, tableAlias } from '../query/query'
import { mayHaveNull, sortedSql } from './keyset'
import { measuredSelection, type ValueLimit } from './measure'
import { columnSql, comparedSql } from './row'

/** Condition of a query as SQL, with the parameters that do not depend on the request (discriminator values). */
export interface ConditionSql {
  /** Empty if there is no condition. */
  readonly sql: string
  readonly parameters: ObjectLiteral
}

type Builder = SelectQueryBuilder<ObjectLiteral>

/** Alias of the keys of a page in {@link deepOffsetQuery}. */
const pageAlias = tableAlias('page')

/** Name of a key column in a derived table. */
const keyName = (index: number): string => tableAlias(`key${index}`)

/** Builds the SELECT of a query, without LIMIT and OFFSET. */
export function selectQuery(
  dataSource: DataSource,
  query: Query,
  condition: ConditionSql,
  valueLimit?: ValueLimit,
): Builder {
  const builder = orderedQuery(dataSource, query, condition)
  addColumns(dataSource, builder, query, valueLimit)
  return builder
}

/**
 * Builds the SELECT of a page with a large OFFSET. A subquery selects the keys of the page, and the outer query reads
 * their rows: the database then sorts and skips only keys, not whole rows.
 * @param limitClause LIMIT and OFFSET of the page, as ` LIMIT :tr…_0 OFFSET :tr…_1`
 */
export function deepOffsetQuery(
  dataSource: DataSource,
  query: Query,
  condition: ConditionSql,
  limitClause: string,
  valueLimit: ValueLimit,
): Builder {
  const { resource } = query
  const keys = resource.key.columns.map((column) => columnSql(dataSource, column, rootAlias))
  const keyQuery = orderedQuery(dataSource, query, condition)
  for (const [index, key] of keys.entries()) keyQuery.addSelect(key, keyName(index))
  const { driver } = dataSource
  const keysAreEqual = keys.map((key, index) => `${driver.escape(pageAlias)}.${driver.escape(keyName(index))} = ${key}`)
  // An outer join makes the database start from the keys. For an inner join, SQLite would scan all rows and look up
  // each of them among the keys.
  const builder = dataSource
    .createQueryBuilder()
    .select([])
    .from<ObjectLiteral>(`(${keyQuery.getQuery()}${limitClause})`, pageAlias)
  builder.leftJoin(resource.metadata.target, rootAlias, keysAreEqual.join(' AND '), keyQuery.getParameters())
  addColumns(dataSource, builder, query, valueLimit)
  addOrdering(dataSource, builder, query)
  return builder
}

/** Builds the joins, the condition and the ORDER BY of a query, without columns. */
function orderedQuery(dataSource: DataSource, query: Query, condition: ConditionSql): Builder {
  const builder = matchingQuery(dataSource, query, condition)
  addOrdering(dataSource, builder, query)
  return builder
}

/** Builds the joins and the condition of a query, without columns and ORDER BY. */
function matchingQuery(dataSource: DataSource, query: Query, { sql, parameters }: ConditionSql): Builder {
  const builder = selectFrom(dataSource, query.resource.metadata.target, rootAlias)
  for (const join of query.scope.joins) addJoin(dataSource, builder, join)
  return sql === '' ? builder : builder.andWhere(sql, parameters)
}

/**
 * Builds the SELECT that counts the rows of a query.
 * @param limitClause limits the number of counted rows, as ` LIMIT :tr…_0`; empty to count all of them
 */
export function countQuery(
  dataSource: DataSource,
  query: Query,
  condition: ConditionSql,
  limitClause: string,
): Builder {
  const matching = matchingQuery(dataSource, query, condition)
  if (limitClause === '') return matching.addSelect('COUNT(*)', '0')
  const rows = matching.addSelect('1', keyName(0))
  return dataSource
    .createQueryBuilder()
    .select('COUNT(*)', '0')
    .from<ObjectLiteral>(`(${rows.getQuery()}${limitClause})`, tableAlias('counted'))
    .setParameters(rows.getParameters())
}

function addColumns(dataSource: DataSource, builder: Builder, query: Query, valueLimit: ValueLimit): void {
  for (const [expression, name] of measuredSelection(dataSource, query, valueLimit)) builder.addSelect(expression, name)
}

function addOrdering(dataSource: DataSource, builder: Builder, { ordering, cursor }: Query): void {
  const { areNullsLeast, knowsNullsOrder } = dialectOf(dataSource)
  for (const order of ordering) {
    const { alias, column, descending, nulls } = order
    const sql = cursor === undefined ? comparedSql(dataSource, column, alias) : sortedSql(dataSource, order)
    const mustPlaceNulls = mayHaveNull(order) && !(areNullsLeast && descending === (nulls === 'last'))
    if (mustPlaceNulls && !knowsNullsOrder) builder.addOrderBy(`(${sql} IS NULL)`, nulls === 'last' ? 'ASC' : 'DESC')
    const placement = nulls === 'last' ? 'NULLS LAST' : 'NULLS FIRST'
    builder.addOrderBy(sql, descending ? 'DESC' : 'ASC', mustPlaceNulls && knowsNullsOrder ? placement : undefined)
  }
}

function addJoin(
  dataSource: DataSource,
  builder: Builder,
  join: Join,
  method: 'leftJoin' | 'innerJoin' = 'leftJoin',
): void {
  const { condition, parameters } = typeCondition(dataSource, join)
  builder[method](`${join.from}.${join.relation.propertyPath}`, join.alias, condition, parameters)
}

/**
 * Predicate that a record has a related record that matches a condition. The subquery selects from the table of the
 * entity that has the relation, and joins the relation: TypeORM can join every kind of relation from that side.
 *
 * A nested subquery is a derived table with SELECT DISTINCT, which no database merges into the outer statement. Merged
 * subqueries would become joins whose row counts multiply: four relations with 20 records each took PostgreSQL more
 * than a minute, MariaDB three minutes.
 * @param where condition on the related record; `holdsForNulls`: it is true if there is no related record
 * @param isNested whether the subquery is inside another such subquery, or contains one
 * @param parameters receives the constant parameters of the subquery
 */
export function existsRelatedSql(
  dataSource: DataSource,
  { first, joins }: Some,
  where: { readonly sql: string; readonly holdsForNulls: boolean },
  isNested: boolean,
  parameters: ObjectLiteral,
): string {
  const { driver } = dataSource
  const { alias, from, relation } = first
  const startAlias = `${alias}_of`
  const { primaryColumns } = relation.entityMetadata
  const keyNames = primaryColumns.map(({ databaseName }) => driver.escape(databaseName))
  const keyOf = (owner: string): readonly string[] => keyNames.map((name) => `${driver.escape(owner)}.${name}`)
  const join = { alias, from: startAlias, relation }
  const builder = relatedQuery(dataSource, join, 'leftJoin', keyOf(startAlias))
  for (const nestedJoin of joins) addJoin(dataSource, builder, nestedJoin)
  // The time limit is the first condition, so that it is evaluated for every row: SQLite stops at the first condition
  // of an AND that is false.
  const [column] = relation.inverseEntityMetadata.primaryColumns
  const relatedId = column && `${driver.escape(alias)}.${driver.escape(column.databaseName)}`
  const timeLimitSql = relatedId && dialectOf(dataSource).whileInTime(dataSource, relatedId)
  if (timeLimitSql !== undefined) builder.andWhere(timeLimitSql)
  builder.andWhere(where.sql)
  if (where.holdsForNulls && relation.isManyToMany) {
    // The outer join yields nulls for a row of the junction table whose record is soft-deleted or of another type. Such
    // a row means "no related record" only if the record has no other related record.
    const ownerAlias = `${alias}_owner`
    const withRelated = relatedQuery(dataSource, { ...join, from: ownerAlias }, 'innerJoin', keyOf(ownerAlias))
    const hasRelated = hasKeySql(dataSource, withRelated, keyOf(ownerAlias), keyOf(startAlias))
    builder.andWhere(`(${relatedId} IS NOT NULL OR NOT ${hasRelated})`)
  }
  const related = isNested
    ? `(${keyOf(from).join(', ')}) IN (SELECT * FROM (${builder.distinct().getQuery()}) ${alias}_keys)`
    : hasKeySql(dataSource, builder, keyOf(startAlias), keyOf(from))
  Object.assign(parameters, builder.getParameters())
  // If the record at the start of the relation is missing, the related record is missing too.
  const matchesMissingRecord = where.holdsForNulls && from !== rootAlias
  return matchesMissingRecord ? `(${keyOf(from)[0]} IS NULL OR ${related})` : related
}

/**
 * Predicate that a subquery selects the key of an outer row.
 * @param selected key columns in the subquery
 * @param key key columns of the outer row
 */
function hasKeySql(
  dataSource: DataSource,
  subquery: Builder,
  selected: readonly string[],
  key: readonly string[],
): string {
  if (!dialectOf(dataSource).correlatesSubqueries) return `(${key.join(', ')}) IN (${subquery.getQuery()})`
  for (const [index, column] of key.entries()) subquery.andWhere(`${selected[index]} = ${column}`)
  return `EXISTS (${subquery.getQuery()})`
}

/** Builds a SELECT of a table's keys, joined with a relation. */
function relatedQuery(
  dataSource: DataSource,
  join: Join,
  method: 'leftJoin' | 'innerJoin',
  keys: readonly string[],
): Builder {
  const builder = selectFrom(dataSource, join.relation.entityMetadata.target, join.from)
  for (const [index, key] of keys.entries()) builder.addSelect(key, keyName(index))
  addJoin(dataSource, builder, join, method)
  return builder
}

/**
 * Condition on the discriminator of a joined entity. Under single-table inheritance TypeORM adds it only for the main
 * table.
 */
function typeCondition(
  { driver }: DataSource,
  { alias, relation }: Join,
): { readonly condition?: string; readonly parameters?: ObjectLiteral } {
  const target = relation.inverseEntityMetadata
  if (target.tableType !== 'entity-child' || target.discriminatorColumn === undefined) return {}
  const family = [target, ...target.childEntityMetadatas]
  const types = family.map(({ discriminatorValue }, index) => [
    `${parameterPrefix}${alias}_${index}`,
    discriminatorValue,
  ])
  const parameterNames = types.map(([name]) => `:${name}`).join(', ')
  const discriminator = `${driver.escape(alias)}.${driver.escape(target.discriminatorColumn.databaseName)}`
  return {
    condition: `${discriminator} IN (${parameterNames})`,
    parameters: Object.fromEntries(types),
  }
}
