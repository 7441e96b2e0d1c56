import type { ObjectLiteral } from 'typeorm'
import { selectFrom } from '../connection/compile'
import { isPattern } from '../query/operand'
import { type Comparison, type Condition, type Exists, type Join, type Query, rootAlias } from '../query/query'
import { isComputed } from '../schema/metadata'
import { isToMany } from '../schema/relations'
import { andSql, anySql } from './column-predicate'
import { longBytes } from './long-columns'
import { keyName, renameDiscriminator } from './related-sql'
import { columnSql } from './row'
import { type ConditionSql, matchingQuery } from './select-query'
import type { Store } from './store'

/**
 * Comparisons of patterns with long texts of joined records. A join compares a text again for each row that leads to its
 * record: 20 texts of 20 KB took SQLite 2.6 seconds for 20,000 rows, and 11 milliseconds if it compared each of them once.
 *
 * Other operators are not changed: they only read the texts, which takes a hundredth of the time, and may use an index.
 */

/** Maximum size of a text that is compared again for each row, in bytes. */
const maxRepeatedBytes = 1000

/**
 * Maximum number of rows of a list for each of which a long text is compared again. The subquery of {@link comparedOnceSql}
 * reads all related records, of which there may be many more.
 */
const maxRepetitions = 1000

/** The joins of a subquery along which several of its rows may lead to the same record. */
export function repeatedJoinsOf({ first, joins }: Exists): readonly Join[] {
  // The subquery of a relation to one is evaluated for each outer row: it reads only the record of this row.
  if (!isToMany(first.relation)) return []
  return first.relation.isManyToMany ? [first, ...joins] : joins
}

/**
 * The join to whose records a pattern is compared, if they may have long texts.
 * @param joins joins along which several rows may lead to the same record
 */
export function repeatedJoin(
  { dialect, dataSource }: Store,
  joins: readonly Join[],
  { on, operator }: Comparison,
): Join | undefined {
  if (!dialect.runsSubqueryOnce || !isPattern(operator)) return undefined
  const mayBeLong = on.field.columns.every(
    (stored) => !isComputed(stored.column) && (longBytes(stored, dataSource) ?? 0) > maxRepeatedBytes,
  )
  return mayBeLong ? joins.find(({ alias }) => alias === on.alias) : undefined
}

/** The comparisons of a condition that have a {@link repeatedJoin}. */
function repeatedComparisons(store: Store, joins: readonly Join[], condition: Condition): readonly Comparison[] {
  if (condition.type === 'compare') return repeatedJoin(store, joins, condition) === undefined ? [] : [condition]
  if (condition.type === 'not') return repeatedComparisons(store, joins, condition.condition)
  if (condition.type !== 'and' && condition.type !== 'or') return []
  return condition.conditions.flatMap((member) => repeatedComparisons(store, joins, member))
}

/** Predicate that a text is so long that it is compared once. */
function isLongSql({ dataSource, dialect }: Store, { on: { alias, field } }: Comparison): string {
  const sizes = field.columns.map((stored) => dialect.sizeSql(stored, columnSql(dataSource, stored, alias)))
  return sizes.map((size) => `${size} > ${maxRepeatedBytes}`).join(' AND ')
}

/** The conditions of which all must be true for a condition to be true. */
function conjunctsOf(condition: Condition): readonly Condition[] {
  return condition.type === 'and' ? condition.conditions.flatMap(conjunctsOf) : [condition]
}

/** Builds the SQL of a condition, for a list of more rows than {@link maxRepetitions} and for one of fewer rows. */
interface ListConditionSql {
  /** Must be called before `inShortList` binds the values of the condition. */
  readonly inLongList: (condition: Condition) => string
  readonly inShortList: (condition: Condition) => string
}

/**
 * Builds the SQL of the condition of a list, as parts to combine with AND. The last part has the conditions with repeated
 * comparisons: the others determine for how many rows it is evaluated. If one of these rows has a long text, they are counted,
 * and only once, because the count does not depend on the row. CASE also keeps SQLite from starting with the related records,
 * whose number may exceed that of the rows that it needs for a page.
 * @param context its `parameters` receive those that TypeORM adds to the count
 */
export function conjunctionSql(
  store: Store,
  query: Query,
  context: Omit<ConditionSql, 'sql'>,
  toSql: ListConditionSql,
): readonly string[] {
  const conjuncts = conjunctsOf(query.where).map((condition) => {
    const comparisons = repeatedComparisons(store, query.joins, condition)
    const inLongList = comparisons.length === 0 ? '' : toSql.inLongList(condition)
    return { condition, comparisons, inLongList, sql: toSql.inShortList(condition) }
  })
  const others = conjuncts.filter(({ comparisons }) => comparisons.length === 0)
  const repeated = conjuncts.filter(({ comparisons }) => comparisons.length > 0)
  const othersSql = others.map(({ sql }) => sql)
  if (repeated.length === 0) return othersSql
  const areLong = repeated.flatMap(({ comparisons }) => comparisons.map((comparison) => isLongSql(store, comparison)))
  const counted = others.filter(({ condition }) => isOnJoinedTables(query, condition)).map(({ sql }) => sql)
  const isLongList = isLongListSql(store, query, { ...context, sql: andSql(counted) })
  const inLongList = andSql(repeated.map((conjunct) => conjunct.inLongList))
  const inShortList = andSql(repeated.map(({ sql }) => sql))
  const when = `${anySql([...new Set(areLong)])} AND ${isLongList}`
  return [...othersSql, `CASE WHEN ${when} THEN ${inLongList} ELSE ${inShortList} END`]
}

/** Predicate that more rows than {@link maxRepetitions} match a condition. */
function isLongListSql(store: Store, query: Query, condition: ConditionSql): string {
  const builder = matchingQuery(store, query, { ...condition, parameters: {} }).addSelect('1', keyName(0))
  const rows = renameDiscriminator(builder.getQuery(), builder, condition.parameters)
  return `(SELECT COUNT(*) FROM (${rows} LIMIT ${maxRepetitions + 1})) > ${maxRepetitions}`
}

/** Whether a count of the rows can have a condition: it does not have the table of the parents of an included list. */
function isOnJoinedTables({ joins }: Query, condition: Condition): boolean {
  if (condition.type !== 'compare') return true
  const { alias } = condition.on
  return alias === rootAlias || joins.some((join) => join.alias === alias)
}

/**
 * Predicate with the result of a comparison that has a {@link repeatedJoin}. A subquery, which does not depend on the outer row,
 * selects the keys of the records whose long texts match. It uses the alias of the join, so that all conditions on the
 * record have the same SQL in it.
 * @param sql SQL of the comparison
 * @param conditions other conditions of the subquery, or undefined
 * @param parameters receives the parameters that TypeORM adds to the subquery
 */
export function comparedOnceSql(
  store: Store,
  comparison: Comparison,
  sql: string,
  { alias, relation }: Join,
  conditions: readonly (string | undefined)[],
  parameters: ObjectLiteral,
): string {
  const { driver } = store.dataSource
  const { target, primaryColumns } = relation.inverseEntityMetadata
  const keys = primaryColumns.map(({ databaseName }) => `${driver.escape(alias)}.${driver.escape(databaseName)}`)
  const isLong = isLongSql(store, comparison)
  const builder = selectFrom(store.dataSource, target, alias)
  for (const [index, key] of keys.entries()) builder.addSelect(key, keyName(index))
  for (const condition of [...conditions, isLong, sql]) if (condition) builder.andWhere(condition)
  const matching = renameDiscriminator(builder.getQuery(), builder, parameters)
  return `CASE WHEN ${isLong} THEN (${keys.join(', ')}) IN (${matching}) ELSE ${sql} END`
}
