import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { discriminatorParameter, discriminatorValues, selectFrom } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import { type Exists, type Join, rootAlias, tableAlias } from '../query/query'
import { isToMany } from '../schema/relations'
import { addJoin, foreignKeyOf, type JoinVisibility, refersTo, viewTimeLimit } from './join-sql'

type Builder = SelectQueryBuilder<ObjectLiteral>

/** What selects the rows of a statement: the condition, several keys, or one key. With keys, the condition only filters the rows. */
export type SelectedBy = 'condition' | 'keys' | 'key'

/** Name of a key column in a subquery or a derived table. */
export const keyName = (index: number): string => tableAlias(`key${index}`)

/**
 * Predicate that a relation leads from the outer row to a record that matches a condition. The subquery usually selects
 * from the table of the outer row again, and joins the relation: TypeORM can join every kind of relation from this side.
 * For a foreign key, the table of the related record is enough ({@link existsReferencedSql}), unless `where` holds for nulls.
 *
 * A database may merge a subquery into the outer statement, as a join. With several subqueries, the numbers of joined
 * rows multiply: four relations with 20 records each took PostgreSQL more than a minute, MariaDB three minutes. Such a
 * subquery is therefore a derived table with SELECT DISTINCT, which no database merges. SQLite merges no subqueries. There
 * a derived table would be slow for a key of several columns: SQLite may search a joined table by only one of them.
 * @param visibility conditions that records of the joined tables are visible
 * @param where condition on the related record; `holdsForNulls` says whether it is true if there is no related record, as
 * `is=null` is
 * @param form.mayBeMerged whether the database may merge the subquery so that numbers of rows multiply
 * @param form.selectedBy what selects the outer rows. For several keys, the database should not start from the subquery. For one key,
 * the subquery reads only what is related to this row
 * @param parameters receives the parameters that TypeORM adds to the subquery: discriminator values
 */
export function existsRelatedSql(
  dataSource: DataSource,
  exists: Exists,
  visibility: JoinVisibility,
  where: { readonly sql: string; readonly holdsForNulls: boolean },
  { mayBeMerged, selectedBy }: { readonly mayBeMerged: boolean; readonly selectedBy: SelectedBy },
  parameters: ObjectLiteral,
): string {
  const { driver } = dataSource
  const { first, joins } = exists
  const { alias, from, relation } = first
  const isToOne = !isToMany(relation)
  if (isToOne && !where.holdsForNulls) return existsReferencedSql(dataSource, exists, visibility, where.sql, parameters)
  /** Alias in the subquery of the table of the outer row. */
  const innerAlias = `${alias}_of`
  const { correlatesSubqueries, unindexedSql } = dialectOf(dataSource)
  // A relation to one record costs one lookup by key for each outer row.
  const isForOneRow = selectedBy === 'key' && !isToOne
  const isCorrelated = isForOneRow || isToOne || correlatesSubqueries
  const { primaryColumns } = relation.entityMetadata
  const keyNames = primaryColumns.map(({ databaseName }) => driver.escape(databaseName))
  const keyOf = (table: string): readonly string[] => keyNames.map((name) => `${driver.escape(table)}.${name}`)
  const join = { ...first, from: innerAlias }
  const visible = visibility.get(first)
  // A row of the junction table may refer to a record that is soft-deleted, hidden or of another type. An outer join would yield nulls
  // for it, although the outer row may have other related records. Instead, a second subquery finds out whether it has a visible one.
  const isOuter = where.holdsForNulls && !relation.isManyToMany
  // SQLite starts from the left table of an outer join: it would read all outer rows and the scopes of all related records.
  const method = isOuter ? 'leftJoin' : 'innerJoin'
  const builder = relatedQuery(dataSource, join, visible, method, isForOneRow ? ['1'] : keyOf(innerAlias))
  for (const nestedJoin of joins) addJoin(dataSource, builder, nestedJoin, visibility.get(nestedJoin))
  // The outer row may be a soft-deleted record.
  builder.withDeleted()
  // The time limit is the first condition, so that it is evaluated for every row: SQLite stops at the first condition
  // of an AND that is false.
  const [column] = relation.inverseEntityMetadata.primaryColumns
  const relatedId = column && `${driver.escape(alias)}.${driver.escape(column.databaseName)}`
  const timeLimitSql = relatedId && dialectOf(dataSource).timeLimitSql(dataSource, relatedId)
  if (timeLimitSql !== undefined) builder.andWhere(timeLimitSql)
  builder.andWhere(where.sql)
  const outerKey = selectedBy === 'keys' ? keyOf(from).map(unindexedSql) : keyOf(from)
  const related = isForOneRow
    ? findsRowSql(builder, keyOf(innerAlias), outerKey)
    : mayBeMerged && !isToOne
      ? `(${outerKey.join(', ')}) IN (SELECT * FROM (${builder.distinct().getQuery()}) ${alias}_keys)`
      : hasKeySql(builder, keyOf(innerAlias), outerKey, isCorrelated)
  const hasAny = (): string => {
    const query = relatedQuery(dataSource, join, visible, 'innerJoin', keyOf(innerAlias)).withDeleted()
    if (timeLimitSql !== undefined) query.andWhere(timeLimitSql)
    return hasKeySql(query, keyOf(innerAlias), outerKey, isCorrelated)
  }
  const matches = where.holdsForNulls && !isOuter ? `(${related} OR NOT ${hasAny()})` : related
  const predicate = renameDiscriminator(matches, builder, parameters)
  // If the record at the start of the relation is missing, the related record is missing too.
  const matchesMissingRecord = where.holdsForNulls && from !== rootAlias
  return matchesMissingRecord ? `(${keyOf(from)[0]} IS NULL OR ${predicate})` : predicate
}

/** Predicate that the record to which a foreign key refers matches a condition: one lookup by key for each outer row. */
function existsReferencedSql(
  dataSource: DataSource,
  { first, joins }: Exists,
  visibility: JoinVisibility,
  where: string,
  parameters: ObjectLiteral,
): string {
  const { alias, from, relation } = first
  const builder = selectFrom(dataSource, relation.inverseEntityMetadata.target, alias).addSelect('1', keyName(0))
  for (const join of joins) addJoin(dataSource, builder, join, visibility.get(join))
  builder.andWhere(refersTo(dataSource, foreignKeyOf(relation), from, alias))
  const timeLimit = viewTimeLimit(dataSource, relation.inverseEntityMetadata, alias)
  for (const condition of [timeLimit, visibility.get(first), where]) if (condition) builder.andWhere(condition)
  return renameDiscriminator(`EXISTS (${builder.getQuery()})`, builder, parameters)
}

/**
 * Renames the parameter for the discriminator values of a subquery. TypeORM uses the same name in every statement, so the
 * values of the outer statement would replace those of the subquery.
 * @param parameters receives the parameters of the subquery
 */
export function renameDiscriminator(sql: string, builder: Builder, parameters: ObjectLiteral): string {
  const { [discriminatorValues]: types, ...others } = builder.getParameters()
  Object.assign(parameters, others)
  if (types === undefined) return sql
  const name = discriminatorParameter(types)
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
  return `EXISTS (${whereKeyEquals(subquery, selected, key).getQuery()})`
}

/**
 * Predicate that a subquery finds a row for an outer row. Databases run it for each outer row: they do not merge scalar subqueries
 * into the outer statement.
 */
function findsRowSql(subquery: Builder, selected: readonly string[], key: readonly string[]): string {
  return `((${whereKeyEquals(subquery, selected, key).limit(1).getQuery()}) IS NOT NULL)`
}

function whereKeyEquals(subquery: Builder, selected: readonly string[], key: readonly string[]): Builder {
  for (const [index, column] of key.entries()) subquery.andWhere(`${selected[index]} = ${column}`)
  return subquery
}

/**
 * Builds a SELECT of the keys of the table that has a relation, joined along this relation.
 * @param visible condition that a joined record is visible; undefined or empty if all are
 * @param keys key columns to select
 */
function relatedQuery(
  dataSource: DataSource,
  join: Join,
  visible: string | undefined,
  method: 'leftJoin' | 'innerJoin',
  keys: readonly string[],
): Builder {
  const builder = selectFrom(dataSource, join.relation.entityMetadata.target, join.from)
  for (const [index, key] of keys.entries()) builder.addSelect(key, keyName(index))
  addJoin(dataSource, builder, join, visible, method)
  return builder
}
