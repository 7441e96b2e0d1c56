import type { ObjectLiteral } from 'typeorm'
import { selectFrom } from '../connection/compile'
import { isPattern } from '../query/operand'
import { type Comparison, type Condition, type Exists, type Join, type Query, rootAlias } from '../query/query'
import { isComputed } from '../schema/metadata'
import { isToMany } from '../schema/relations'
import { anySql } from './column-predicate'
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

/** The members of the conjunction of a query, in the order in which they are evaluated. */
export interface Conjuncts {
  readonly first: readonly Condition[]
  /** Those with a comparison that has a {@link repeatedJoin}. */
  readonly last: readonly Condition[]
}

/** Splits the condition of a query: the members of `first` determine for how many rows those of `last` are evaluated. */
export function conjunctsOf(store: Store, query: Query): Conjuncts {
  const { where, joins } = query
  if (!store.dialect.runsSubqueryOnce || joins.length === 0) return { first: [where], last: [] }
  const conjuncts = flatten(where)
  const last = conjuncts.filter((condition) => repeatedComparisons(store, joins, condition).length > 0)
  if (last.length === 0) return { first: [where], last }
  return { first: conjuncts.filter((condition) => !last.includes(condition)), last }
}

const flatten = (condition: Condition): readonly Condition[] =>
  condition.type === 'and' ? condition.conditions.flatMap(flatten) : [condition]

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

/** Whether the count of {@link ifLongListSql} can contain a condition: it does not have the table of the parents of a list. */
export function isOnJoinedTables({ joins }: Query, condition: Condition | undefined): boolean {
  if (condition?.type !== 'compare') return true
  const { alias } = condition.on
  return alias === rootAlias || joins.some((join) => join.alias === alias)
}

/**
 * Predicate with the result of the conditions `Conjuncts.last`. The rows of the list are counted only if one of them has a long
 * text, and only once, because the count does not depend on the row. CASE also keeps SQLite from starting with the related
 * records, whose number may exceed that of the rows that it needs for a page.
 * @param first the other conditions of the list. Its `parameters` receive those that TypeORM adds
 * @param inLongList SQL of the conditions for a list of more rows than {@link maxRepetitions}
 * @param inShortList SQL of the conditions for a list of fewer rows
 */
export function ifLongListSql(
  store: Store,
  query: Query,
  first: ConditionSql,
  last: readonly Condition[],
  inLongList: string,
  inShortList: string,
): string {
  const builder = matchingQuery(store, query, { ...first, parameters: {} }).addSelect('1', keyName(0))
  const rows = renameDiscriminator(builder.getQuery(), builder, rootAlias, first.parameters)
  const isLongList = `(SELECT COUNT(*) FROM (${rows} LIMIT ${maxRepetitions + 1})) > ${maxRepetitions}`
  const comparisons = last.flatMap((condition) => repeatedComparisons(store, query.joins, condition))
  const isLong = anySql([...new Set(comparisons.map((comparison) => isLongSql(store, comparison)))])
  return `CASE WHEN ${isLong} AND ${isLongList} THEN ${inLongList} ELSE ${inShortList} END`
}

/** SQL of a comparison, and of other conditions on the joined record. */
interface ComparedRecord {
  readonly comparison: string
  /** Predicate that checks the time for each row of the joined table. */
  readonly timeLimit: string | undefined
  /** Condition that the record is visible; empty or undefined if all are. */
  readonly visible: string | undefined
}

/**
 * Predicate with the result of a comparison that has a {@link repeatedJoin}. A subquery, which does not depend on the outer row,
 * selects the keys of the records whose long texts match. It uses the alias of the join, so that all conditions on the
 * record have the same SQL in it.
 * @param parameters receives the parameters that TypeORM adds to the subquery
 */
export function comparedOnceSql(
  store: Store,
  compared: Comparison,
  { alias, relation }: Join,
  { comparison, timeLimit, visible }: ComparedRecord,
  parameters: ObjectLiteral,
): string {
  const { driver } = store.dataSource
  const { target, primaryColumns } = relation.inverseEntityMetadata
  const keys = primaryColumns.map(({ databaseName }) => `${driver.escape(alias)}.${driver.escape(databaseName)}`)
  const isLong = isLongSql(store, compared)
  const builder = selectFrom(store.dataSource, target, alias)
  for (const [index, key] of keys.entries()) builder.addSelect(key, keyName(index))
  for (const condition of [timeLimit, isLong, visible, comparison]) if (condition) builder.andWhere(condition)
  const matching = renameDiscriminator(builder.getQuery(), builder, alias, parameters)
  return `CASE WHEN ${isLong} THEN (${keys.join(', ')}) IN (${matching}) ELSE ${comparison} END`
}
