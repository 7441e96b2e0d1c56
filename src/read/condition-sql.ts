import type { ObjectLiteral } from 'typeorm'
import { type Bind, collectValues } from '../connection/compile'
import { isPattern } from '../query/operand'
import type { Policies, ResolvedPolicy } from '../query/policies'
import {
  type Combination,
  type Comparison,
  type Condition,
  type DeletionCondition,
  type Exists,
  type Join,
  type Match,
  type Query,
  rootAlias,
} from '../query/query'
import { isComputed, isView } from '../schema/metadata'
import { isToMany } from '../schema/relations'
import type { ResourceView } from '../schema/resource-view'
import { buildReadColumn, type StoredColumn } from '../schema/stored-column'
import { andSql, combineSql, negateSql } from './column-predicate'
import { bindComparisonValues, comparisonSql } from './comparison-sql'
import type { JoinVisibility } from './join-sql'
import { keysetSql } from './keyset'
import { longBytes } from './long-columns'
import { comparedOnceSql, conjunctionSql, repeatedJoin, repeatedJoinsOf } from './long-comparison'
import { existsRelatedSql, type SelectedBy } from './related-sql'
import { columnSql, isExpression } from './row'
import type { ConditionSql } from './select-query'
import type { Store } from './store'

/** The rows for which a condition is evaluated. */
interface EvaluatedRows {
  /** Whether the condition is inside a subquery. */
  readonly isNested: boolean
  readonly selectedBy: SelectedBy
  /** Whether most of these rows match: the database then does not select them by an index of a compared column. */
  readonly mostMatch: boolean
  /** Joins along which several rows may lead to the same record, so that a long text of it is compared once. */
  readonly repeatedJoins: readonly Join[]
  /** Conditions that records of these joins are visible. */
  readonly visibility: JoinVisibility
}

/** Turns each part of a condition into a string: SQL, or a cache key. */
interface ConditionVisitor {
  /** The policies for the principal of the request. */
  readonly policies: Policies | undefined
  readonly compare: (comparison: Comparison, values: readonly unknown[], rows: EvaluatedRows) => string
  readonly match: (match: Match, words: readonly string[], rows: EvaluatedRows) => string
  readonly exists: (
    exists: Exists,
    visibility: JoinVisibility,
    where: string,
    values: Query['values'],
    rows: EvaluatedRows,
  ) => string
  readonly deletion: (condition: DeletionCondition) => string
  readonly combine: (type: Combination['type'], parts: readonly string[]) => string
  readonly negate: (part: string) => string
  readonly policy: (policyKey: ResolvedPolicy['key'], condition: string) => string
}

/** Visits all parts of a condition, always in the same order, so that the values are bound in the same order. */
function visitCondition(
  condition: Condition,
  values: Query['values'],
  visitor: ConditionVisitor,
  rows: EvaluatedRows,
): string {
  if (condition.type === 'compare') return visitor.compare(condition, values[condition.valuesIndex] ?? [], rows)
  if (condition.type === 'match') {
    return visitor.match(condition, (values[condition.valuesIndex] ?? []) as readonly string[], rows)
  }
  if (condition.type === 'exists') {
    const { first, joins, where } = condition
    // Along a relation to one, each row leads to one row.
    const selectedBy = isToMany(first.relation) ? 'condition' : rows.selectedBy
    const related = { ...fewRows, isNested: true, selectedBy }
    const visibility = visitJoins([first, ...joins], visitor, related)
    const relatedRows = { ...related, repeatedJoins: repeatedJoinsOf(condition), visibility }
    return visitor.exists(condition, visibility, visitCondition(where, values, visitor, relatedRows), values, rows)
  }
  if (condition.type === 'deletion') return visitor.deletion(condition)
  if (condition.type === 'visible' || condition.type === 'permission') {
    const resolved = requirePolicies(visitor).resolve(condition)
    const permitted = { ...rows, mostMatch: rows.selectedBy !== 'condition' }
    return visitor.policy(resolved.key, visitCondition(resolved.condition, resolved.values, visitor, permitted))
  }
  if (condition.type === 'not') return visitor.negate(visitCondition(condition.condition, values, visitor, rows))
  return visitor.combine(
    condition.type,
    condition.conditions.map((part) => visitCondition(part, values, visitor, rows)),
  )
}

const allVisible: JoinVisibility = new Map()

/** Rows of which each leads to other joined records, or so few rows that a text can be compared again for each of them. */
const fewRows: EvaluatedRows = {
  isNested: false,
  selectedBy: 'condition',
  mostMatch: false,
  repeatedJoins: [],
  visibility: allVisible,
}

/** Visits the conditions that records of joined tables are visible. */
function visitJoins(joins: readonly Join[], visitor: ConditionVisitor, rows = fewRows): JoinVisibility {
  if (!joins.some(({ visible }) => visible !== undefined)) return allVisible
  return new Map(
    joins.map((join) => [join, join.visible === undefined ? '' : visitCondition(join.visible, [], visitor, rows)]),
  )
}

/** @throws {Error} if a statement depends on the principal, but has none; nothing may be shown then */
function requirePolicies({ policies }: ConditionVisitor): Policies {
  if (policies === undefined) throw new Error('visibility and permissions need the principal of a request')
  return policies
}

/**
 * Binds the values of a query's condition and cursor.
 * @returns the part of the cache key that depends on the values, such as their number. This is cheaper than building
 * the SQL, which is built only for a new cache key
 */
export function bindConditionValues(store: Store, query: Query, bind: Bind): string {
  const visitor: ConditionVisitor = {
    policies: store.policies,
    compare: (comparison, operands) => bindComparisonValues(comparison, operands, store.dataSource, bind),
    match: ({ index }, words) => {
      bind(store.dialect.textSearch.queryOf(words, index))
      return ''
    },
    exists: (_, visibility, where) => [...visibility.values(), where].join('\n'),
    deletion: ({ isDeleted }) => `deleted ${isDeleted}`,
    combine: (_, parts) => parts.join('\n'),
    negate: (part) => part,
    policy: (key, condition) => `${key}: ${condition}`,
  }
  const visibility = [...visitJoins(query.joins, visitor).values()]
  const where = visitCondition(query.where, query.values, visitor, fewRows)
  const keysetPredicate = keysetSql(store, query, bind)
  return [...visibility, where, ...(keysetPredicate === undefined ? [] : [keysetPredicate])].join('\n')
}

/**
 * Builds the SQL of a query's condition and cursor. It binds the same values as {@link bindConditionValues}.
 * @param options.root alias of the table of the query's resource
 * @param options.otherValues number of values that the statement binds for other conditions
 * @param options.selectedBy what selects the rows of the statement
 * @param options.mostMatch whether most of the rows that keys select match the filters too
 */
export function conditionSql(
  store: Store,
  query: Query,
  {
    root = rootAlias,
    otherValues = 0,
    selectedBy = 'condition',
    mostMatch = false,
  }: {
    readonly root?: string
    readonly otherValues?: number
    readonly selectedBy?: SelectedBy
    readonly mostMatch?: boolean
  } = {},
): ConditionSql {
  const { values: boundValues, bind } = collectValues()
  const parameters: ObjectLiteral = {}
  const visitorOf = (bind: Bind): ConditionVisitor => ({
    policies: store.policies,
    compare: (comparison, operands, { mostMatch, repeatedJoins, visibility }) => {
      const { alias, field } = comparison.on
      const compared = comparisonSql(comparison, operands, store.dataSource, bind)
      const sql = alias === root && mostMatch ? store.dialect.likelySql(compared) : compared
      const timeLimit = mayReadLongValues(store, comparison) ? timeLimitAt(store, alias, field.columns) : undefined
      const join = repeatedJoin(store, repeatedJoins, comparison)
      const predicate =
        join === undefined
          ? sql
          : comparedOnceSql(store, comparison, sql, join, [timeLimit, visibility.get(join)], parameters)
      return timeLimit === undefined ? predicate : `(${timeLimit} AND ${predicate})`
    },
    match: ({ alias, index }, words, rows) => {
      const { matchSql, queryOf } = store.dialect.textSearch
      const placeholder = bind(queryOf(words, index))
      return matchSql(store.dataSource, index, alias, placeholder, rows.selectedBy === 'condition')
    },
    exists: (exists, visibility, where, values, rows) =>
      existsRelatedSql(
        store.dataSource,
        exists,
        visibility,
        { sql: where, holdsForNulls: holdsForNull(exists.where, values) },
        { mayBeMerged: isMergeable(store, query.where, exists, rows.isNested), selectedBy: rows.selectedBy },
        parameters,
      ),
    deletion: ({ view, isDeleted }) => deletionSql(store, view, isDeleted),
    combine: combineSql,
    negate: (part) => negateSql(store.dialect, part),
    policy: (_, condition) => condition,
  })
  const visitor = visitorOf(bind)
  const rows = { ...fewRows, selectedBy, mostMatch }
  const joinVisibility = visitJoins(query.joins, visitor, rows)
  const manyRows = { ...rows, repeatedJoins: query.joins, visibility: joinVisibility }
  const conditions = conjunctionSql(
    store,
    query,
    { joinVisibility, parameters },
    {
      inShortList: (condition) => visitCondition(condition, query.values, visitor, rows),
      // Its placeholders are those of the values that `inShortList` binds next.
      inLongList: (condition) =>
        visitCondition(condition, query.values, visitorOf(collectValues(boundValues.length).bind), manyRows),
    },
  )
  const keysetPredicate = keysetSql(store, query, bind)
  const hasManyValues = boundValues.length + otherValues > maxUncheckedValues
  const isChecked = hasManyValues || (root === rootAlias && isView(query.view.metadata))
  const timeLimitSql = isChecked ? timeLimitAt(store, root, query.view.key.columns) : undefined
  // The time limits are the first conditions, so that they are evaluated for every row: SQLite stops at the first
  // condition of an AND that is false.
  const parts = [timeLimitSql ?? '', ...sortTimeLimits(store, query), ...conditions, keysetPredicate ?? '']
  return { sql: andSql(parts), joinVisibility, parameters }
}

/**
 * Maximum number of bound values for which a statement needs no time limit: with so few short values, SQLite takes less
 * than a second for 100,000 rows.
 */
const maxUncheckedValues = 64

/**
 * Whether a comparison may take long for a single row, so that the time is checked for each row for which it is
 * evaluated: a pattern may be compared with a long text, an expression may compute from one, and a long value of a related record is
 * read again for each record that refers to it. SQLite may evaluate it before it reads a row of any other table, and then not read one.
 */
function mayReadLongValues({ dataSource }: Store, { on, operator }: Comparison): boolean {
  if (isPattern(operator) || on.field.columns.some(({ column }) => isExpression(column))) return true
  return on.alias !== rootAlias && on.field.columns.some((column) => longBytes(column, dataSource) !== undefined)
}

/**
 * Predicates that check the time for each row that has a long value in a sort column. The value is read again for each
 * row of the list, also if it belongs to a related record, and is compared with those of other rows: about ten times
 * for a page of 1,000 rows. The predicates read only the size of the value.
 */
function sortTimeLimits(store: Store, { ordering, cursor }: Query): readonly string[] {
  const { dataSource, dialect, view } = store
  return ordering.flatMap(({ alias, column }) => {
    const isLong = (longBytes(column, dataSource) ?? 0) > maxUncheckedSortBytes
    if (!isLong && !isExpression(column.column)) return []
    // SQLite may read the related records first, and compare them with the cursor before it reads a row of the list.
    const isComparedFirst = alias !== rootAlias && cursor?.values !== undefined
    const checks = [
      timeLimitAt(store, rootAlias, view.key.columns),
      isComparedFirst ? timeLimitAt(store, alias, [column]) : undefined,
    ]
    const size = dialect.sizeSql(column, columnSql(dataSource, column, alias))
    // To find the size of a computed value, the database computes the value.
    const isShort = isComputed(column.column) ? '' : `${size} <= ${maxUncheckedSortBytes} OR `
    return checks.flatMap((check) => (check === undefined ? [] : [`(${isShort}${check})`]))
  })
}

/**
 * Maximum size of a sort value for which the time is not checked, in bytes. For 100,000 short values, the checks would
 * take 20 milliseconds, and sorting takes 5; comparing the size takes 5 too.
 */
const maxUncheckedSortBytes = 1000

/** Predicate that checks the time for each row of the table of these columns. */
export function timeLimitAt(
  { dataSource, dialect }: Store,
  alias: string,
  columns: readonly StoredColumn[],
): string | undefined {
  const [column] = columns.flatMap((stored) => stored.column.entityMetadata.primaryColumns)
  if (column === undefined) return undefined
  return dialect.timeLimitSql(
    dataSource,
    `${dataSource.driver.escape(alias)}.${dataSource.driver.escape(column.databaseName)}`,
  )
}

/** Predicate that the record of the table `rootAlias` is soft-deleted, or is not. */
function deletionSql({ dataSource }: Store, { metadata }: ResourceView, isDeleted: boolean): string {
  const { deleteDateColumn: column } = metadata
  if (column === undefined) throw new Error(`${metadata.name} has no soft-deleted records`)
  const sql = columnSql(dataSource, buildReadColumn(column, dataSource), rootAlias)
  return `${sql} IS ${isDeleted ? 'NOT NULL' : 'NULL'}`
}

/** Whether a condition of a subquery is true if there is no related record (all columns null), as `is=null` is. */
function holdsForNull(condition: Condition, values: Query['values']): boolean {
  if (condition.type === 'compare') {
    return condition.operator === 'is' && (values[condition.valuesIndex] ?? []).includes('null')
  }
  if (condition.type === 'match' || condition.type === 'deletion') return false
  if (condition.type === 'exists') return holdsForNull(condition.where, values)
  return condition.type === 'and' && condition.conditions.every((part) => holdsForNull(part, values))
}

/**
 * Whether the database may merge a subquery into the outer statement so that numbers of rows multiply.
 * @param all the condition that contains the subquery
 */
function isMergeable({ dialect }: Store, all: Condition, exists: Exists, isNested: boolean): boolean {
  const { mergesSubqueries } = dialect
  if (mergesSubqueries === 'none') return false
  if (isNested || countSubqueries(exists.where) > 0) return true
  return mergesSubqueries === 'all' && (exists.first.from !== rootAlias || countSubqueries(all) > 1)
}

/** Number of subqueries in a condition. Visibility and a permission count as one, whatever their conditions are. */
export function countSubqueries(condition: Condition): number {
  if (condition.type === 'compare' || condition.type === 'match' || condition.type === 'deletion') return 0
  if (condition.type === 'visible' || condition.type === 'permission') return 1
  if (condition.type === 'exists') return 1 + countSubqueries(condition.where)
  if (condition.type === 'not') return countSubqueries(condition.condition)
  return condition.conditions.reduce((sum, part) => sum + countSubqueries(part), 0)
}
