import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { parameterPrefix, selectFrom } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import { type Exists, type Join, type Query, rootAlias, tableAlias } from '../query/query'
import { isToMany } from '../schema/relations'
import { mayHaveNull, sortedSql } from './keyset'
import { measuredSelection, type ValueLimit } from './measure'
import { columnSql, comparisonColumnSql } from './row'
import type { Store } from './store'

/** Condition of a query as SQL, with the parameters that do not depend on the request (discriminator values). */
export interface ConditionSql {
  /** Empty if there is no condition. */
  readonly sql: string
  readonly parameters: ObjectLiteral
  readonly joinScopes: JoinScopes
}

/** SQL of the row scopes of joined tables. It is empty, or missing, for a table whose records are all in scope. */
export type JoinScopes = ReadonlyMap<Join, string>

type Builder = SelectQueryBuilder<ObjectLiteral>

/** Alias of the keys of a page in {@link deepOffsetQuery}. */
const pageAlias = tableAlias('page')

/** Name of a key column in a derived table. */
const keyName = (index: number): string => tableAlias(`key${index}`)

/** Builds the SELECT of a query, without LIMIT and OFFSET. */
export function selectQuery(store: Store, query: Query, condition: ConditionSql, valueLimit?: ValueLimit): Builder {
  const builder = orderedQuery(store, query, condition)
  addColumns(store, builder, query, valueLimit)
  return builder
}

/**
 * Builds the SELECT of a page with a large OFFSET. A subquery selects the keys of the page, and the outer query reads
 * their rows: the database then sorts and skips only keys, not whole rows.
 * @param limitClause LIMIT and OFFSET of the page, as ` LIMIT :tr…_0 OFFSET :tr…_1`
 */
export function deepOffsetQuery(
  store: Store,
  query: Query,
  condition: ConditionSql,
  limitClause: string,
  valueLimit: ValueLimit,
): Builder {
  const { view, dataSource } = store
  const keys = view.key.columns.map((column) => columnSql(dataSource, column, rootAlias))
  const keyQuery = orderedQuery(store, query, condition)
  for (const [index, key] of keys.entries()) keyQuery.addSelect(key, keyName(index))
  const { driver } = dataSource
  const keysAreEqual = keys.map((key, index) => `${driver.escape(pageAlias)}.${driver.escape(keyName(index))} = ${key}`)
  // An outer join makes the database start from the keys. For an inner join, SQLite would scan all rows and look up
  // each of them among the keys.
  const builder = dataSource
    .createQueryBuilder()
    .select([])
    .from<ObjectLiteral>(`(${keyQuery.getQuery()}${limitClause})`, pageAlias)
  builder.leftJoin(view.metadata.target, rootAlias, keysAreEqual.join(' AND '), keyQuery.getParameters())
  addColumns(store, builder, query, valueLimit)
  addOrdering(store, builder, query)
  return builder
}

/** Builds the joins, the condition and the ORDER BY of a query, without columns. */
function orderedQuery(store: Store, query: Query, condition: ConditionSql): Builder {
  const builder = matchingQuery(store, query, condition)
  addOrdering(store, builder, query)
  return builder
}

/** Builds the joins and the condition of a query, without columns and ORDER BY. */
function matchingQuery(store: Store, query: Query, { sql, parameters, joinScopes }: ConditionSql): Builder {
  const { view, dataSource } = store
  const builder = selectFrom(dataSource, view.metadata.target, rootAlias)
  for (const join of query.joins) addJoin(dataSource, builder, join, joinScopes.get(join))
  if (sql !== '') builder.andWhere(sql)
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

function addColumns(store: Store, builder: Builder, query: Query, valueLimit: ValueLimit): void {
  for (const [expression, name] of measuredSelection(store, query, valueLimit)) builder.addSelect(expression, name)
}

function addOrdering(store: Store, builder: Builder, { ordering, cursor }: Query): void {
  const { areNullsLeast, supportsNullsOrder } = store.dialect
  for (const sortColumn of ordering) {
    const { alias, column, descending, nulls } = sortColumn
    const sql =
      cursor === undefined ? comparisonColumnSql(store.dataSource, column, alias) : sortedSql(store, sortColumn)
    const mustPlaceNulls = mayHaveNull(sortColumn) && !(areNullsLeast && descending === (nulls === 'last'))
    if (mustPlaceNulls && !supportsNullsOrder) builder.addOrderBy(`(${sql} IS NULL)`, nulls === 'last' ? 'ASC' : 'DESC')
    const placement = nulls === 'last' ? 'NULLS LAST' : 'NULLS FIRST'
    builder.addOrderBy(sql, descending ? 'DESC' : 'ASC', mustPlaceNulls && supportsNullsOrder ? placement : undefined)
  }
}

function addJoin(
  dataSource: DataSource,
  builder: Builder,
  join: Join,
  rowScope = '',
  method: 'leftJoin' | 'innerJoin' = 'leftJoin',
): void {
  const { condition: typePredicate, parameters } = typeCondition(dataSource, join)
  const { from, alias, relation } = join
  const keyPredicate = typePredicate === undefined ? undefined : inverseKeyCondition(dataSource, join)
  const condition = [keyPredicate, typePredicate, rowScope].filter(Boolean).join(' AND ')
  // If the foreign key is on the other side, TypeORM's own condition excludes the subclasses of the target.
  if (keyPredicate !== undefined) builder[method](relation.inverseEntityMetadata.target, alias, condition, parameters)
  else builder[method](`${from}.${relation.propertyPath}`, alias, condition === '' ? undefined : condition, parameters)
}

/**
 * Condition that the foreign key of a joined table refers to the table that has the relation.
 * @returns undefined for a relation whose foreign key is not in the joined table
 */
function inverseKeyCondition({ driver }: DataSource, { alias, from, relation }: Join): string | undefined {
  const { isOneToMany, isOneToOneNotOwner, inverseRelation } = relation
  if (inverseRelation === undefined || !(isOneToMany || isOneToOneNotOwner)) return undefined
  const equalities = inverseRelation.joinColumns.flatMap(({ databaseName, referencedColumn: key }) => {
    const foreignKey = `${driver.escape(alias)}.${driver.escape(databaseName)}`
    return key === undefined ? [] : [`${foreignKey} = ${driver.escape(from)}.${driver.escape(key.databaseName)}`]
  })
  return equalities.join(' AND ')
}

/**
 * Predicate that a record has a related record that matches a condition. The subquery selects from the table of the
 * entity that has the relation, and joins the relation: TypeORM can join every kind of relation from that side.
 *
 * A subquery that the database may merge into the outer statement is a derived table with SELECT DISTINCT, which no
 * database merges. Merged subqueries would become joins whose row counts multiply: four relations with 20 records each
 * took PostgreSQL more than a minute, MariaDB three minutes. On SQLite, which merges none, derived tables would be slow
 * if a key has several columns: it may search a joined table by one of these columns only.
 * @param scopes row scopes of the joined tables
 * @param where condition on the related record; `holdsForNulls`: it is true if there is no related record
 * @param mayBeMerged whether the database may merge the subquery into the outer statement
 * @param parameters receives the constant parameters of the subquery
 */
export function existsRelatedSql(
  dataSource: DataSource,
  exists: Exists,
  scopes: JoinScopes,
  where: { readonly sql: string; readonly holdsForNulls: boolean },
  mayBeMerged: boolean,
  parameters: ObjectLiteral,
): string {
  const { driver } = dataSource
  const { first, joins } = exists
  const { alias, from, relation } = first
  const isToOne = !isToMany(relation)
  if (isToOne && !where.holdsForNulls) return existsReferencedSql(dataSource, exists, scopes, where.sql, parameters)
  const startAlias = `${alias}_of`
  // A relation to one record costs one lookup by key for each outer row.
  const isCorrelated = isToOne || dialectOf(dataSource).correlatesSubqueries
  const { primaryColumns } = relation.entityMetadata
  const keyNames = primaryColumns.map(({ databaseName }) => driver.escape(databaseName))
  const keyOf = (owner: string): readonly string[] => keyNames.map((name) => `${driver.escape(owner)}.${name}`)
  const join = { ...first, from: startAlias }
  const rowScope = scopes.get(first)
  const builder = relatedQuery(dataSource, join, rowScope, 'leftJoin', keyOf(startAlias))
  for (const nestedJoin of joins) addJoin(dataSource, builder, nestedJoin, scopes.get(nestedJoin))
  // The time limit is the first condition, so that it is evaluated for every row: SQLite stops at the first condition
  // of an AND that is false.
  const [column] = relation.inverseEntityMetadata.primaryColumns
  const relatedId = column && `${driver.escape(alias)}.${driver.escape(column.databaseName)}`
  const timeLimitSql = relatedId && dialectOf(dataSource).timeLimitSql(dataSource, relatedId)
  if (timeLimitSql !== undefined) builder.andWhere(timeLimitSql)
  builder.andWhere(where.sql)
  if (where.holdsForNulls && relation.isManyToMany) {
    // The outer join yields nulls for a row of the junction table whose record is soft-deleted or of another type. Such
    // a row means "no related record" only if the record has no other related record.
    const ownerAlias = `${alias}_owner`
    const withRelated = relatedQuery(
      dataSource,
      { ...join, from: ownerAlias },
      rowScope,
      'innerJoin',
      keyOf(ownerAlias),
    )
    const hasRelated = hasKeySql(withRelated, keyOf(ownerAlias), keyOf(startAlias), isCorrelated)
    builder.andWhere(`(${relatedId} IS NOT NULL OR NOT ${hasRelated})`)
  }
  const related =
    mayBeMerged && !isToOne
      ? `(${keyOf(from).join(', ')}) IN (SELECT * FROM (${builder.distinct().getQuery()}) ${alias}_keys)`
      : hasKeySql(builder, keyOf(startAlias), keyOf(from), isCorrelated)
  const predicate = renameDiscriminator(related, builder, alias, parameters)
  // If the record at the start of the relation is missing, the related record is missing too.
  const matchesMissingRecord = where.holdsForNulls && from !== rootAlias
  return matchesMissingRecord ? `(${keyOf(from)[0]} IS NULL OR ${predicate})` : predicate
}

/** Predicate that the record of a foreign key matches a condition: one lookup by key for each outer row. */
function existsReferencedSql(
  dataSource: DataSource,
  { first, joins }: Exists,
  scopes: JoinScopes,
  where: string,
  parameters: ObjectLiteral,
): string {
  const { driver } = dataSource
  const { alias, from, relation } = first
  const builder = selectFrom(dataSource, relation.inverseEntityMetadata.target, alias).addSelect('1', keyName(0))
  for (const join of joins) addJoin(dataSource, builder, join, scopes.get(join))
  for (const { databaseName, referencedColumn } of relation.joinColumns) {
    const key = `${driver.escape(alias)}.${driver.escape(referencedColumn?.databaseName ?? '')}`
    builder.andWhere(`${key} = ${driver.escape(from)}.${driver.escape(databaseName)}`)
  }
  for (const condition of [scopes.get(first), where]) if (condition) builder.andWhere(condition)
  return renameDiscriminator(`EXISTS (${builder.getQuery()})`, builder, alias, parameters)
}

/** Name of TypeORM's parameter for the discriminator values of a child entity. */
const discriminatorValues = 'discriminatorColumnValues'

/**
 * Renames the parameter for the discriminator values of a subquery. TypeORM uses the same name in every statement, so the
 * values of the outer statement would replace those of the subquery.
 * @param parameters receives the parameters of the subquery
 */
function renameDiscriminator(sql: string, builder: Builder, alias: string, parameters: ObjectLiteral): string {
  const { [discriminatorValues]: types, ...others } = builder.getParameters()
  Object.assign(parameters, others)
  if (types === undefined) return sql
  const name = `${parameterPrefix}${alias}_types`
  parameters[name] = types
  return sql.replaceAll(`:...${discriminatorValues}`, `:...${name}`)
}

/**
 * Predicate that a subquery selects the key of an outer row.
 * @param selected key columns in the subquery
 * @param key key columns of the outer row
 * @param isCorrelated whether to look up each outer row in the subquery, instead of evaluating the subquery once
 */
function hasKeySql(
  subquery: Builder,
  selected: readonly string[],
  key: readonly string[],
  isCorrelated: boolean,
): string {
  // In parentheses, because NOT may bind more strongly than IN: MySQL's `sql_mode` HIGH_NOT_PRECEDENCE.
  if (!isCorrelated) return `((${key.join(', ')}) IN (${subquery.getQuery()}))`
  for (const [index, column] of key.entries()) subquery.andWhere(`${selected[index]} = ${column}`)
  return `EXISTS (${subquery.getQuery()})`
}

/** Builds a SELECT of a table's keys, joined with a relation. */
function relatedQuery(
  dataSource: DataSource,
  join: Join,
  rowScope: string | undefined,
  method: 'leftJoin' | 'innerJoin',
  keys: readonly string[],
): Builder {
  const builder = selectFrom(dataSource, join.relation.entityMetadata.target, join.from)
  for (const [index, key] of keys.entries()) builder.addSelect(key, keyName(index))
  addJoin(dataSource, builder, join, rowScope, method)
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
  const targetAndChildren = [target, ...target.childEntityMetadatas]
  const types = targetAndChildren.map(({ discriminatorValue }, index) => [
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
