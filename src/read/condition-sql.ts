import type { ObjectLiteral } from 'typeorm'
import { type Bind, collectValues } from '../connection/compile'
import { isPattern } from '../query/operand'
import {
  type Combination,
  type Comparison,
  type Condition,
  type Exists,
  type FieldRef,
  type Query,
  rootAlias,
} from '../query/query'
import { bindComparisonValues, comparisonSql } from './comparison-sql'
import { keysetSql } from './keyset'
import { longBytes } from './long-columns'
import { type ConditionSql, existsRelatedSql } from './select-query'
import type { Store } from './store'

/** Turns each part of a condition into a string: SQL, or a cache key. */
interface ConditionVisitor {
  readonly compare: (comparison: Comparison, values: readonly unknown[]) => string
  readonly exists: (exists: Exists, where: string, isNested: boolean) => string
  readonly combine: (type: Combination['type'] | 'not', parts: readonly string[]) => string
}

/**
 * Visits all parts of a condition, always in the same order, so that the values are bound in the same order.
 * @param isNested whether the condition is inside a subquery
 */
function visitCondition(
  condition: Condition,
  values: Query['values'],
  visitor: ConditionVisitor,
  isNested = false,
): string {
  if (condition.type === 'compare') return visitor.compare(condition, values[condition.valuesIndex] ?? [])
  if (condition.type === 'exists')
    return visitor.exists(condition, visitCondition(condition.where, values, visitor, true), isNested)
  const parts = condition.type === 'not' ? [condition.condition] : condition.conditions
  return visitor.combine(
    condition.type,
    parts.map((part) => visitCondition(part, values, visitor, isNested)),
  )
}

/**
 * Binds the values of a query's condition and cursor.
 * @returns the part of the cache key that depends on the values, such as their number. This is cheaper than building
 * the SQL, which is built only for a new cache key
 */
export function bindConditionValues(store: Store, query: Query, bind: Bind): string {
  const { scope, values } = query
  const key = visitCondition(scope.where, values, {
    compare: (comparison, operands) => bindComparisonValues(comparison, operands, store.dataSource, bind),
    exists: (_, where) => where,
    combine: (_, parts) => parts.join('\n'),
  })
  const keysetPredicate = keysetSql(store, query, bind)
  return keysetPredicate === undefined ? key : `${key}\n${keysetPredicate}`
}

/** Builds the SQL of a query's condition and cursor. It binds the same values as {@link bindConditionValues}. */
export function conditionSql(store: Store, query: Query): ConditionSql {
  const { scope, values } = query
  const { values: boundValues, bind } = collectValues()
  const parameters: ObjectLiteral = {}
  const sql = visitCondition(scope.where, values, {
    compare: (comparison, operands) => {
      const comparisonOnly = comparisonSql(comparison, operands, store.dataSource, bind)
      const timeLimitSql = mayReadLongValues(store, comparison) ? timeLimitAt(store, comparison.on) : undefined
      return timeLimitSql === undefined ? comparisonOnly : `(${timeLimitSql} AND ${comparisonOnly})`
    },
    exists: (exists, where, isNested) => {
      const holdsForNulls = holdsForNull(exists.where, values)
      const mayBeMerged = isMergeable(store, scope.where, exists, isNested)
      return existsRelatedSql(store.dataSource, exists, { sql: where, holdsForNulls }, mayBeMerged, parameters)
    },
    combine: combineSql,
  })
  const keysetPredicate = keysetSql(store, query, bind)
  const hasManyValues = boundValues.length > maxUncheckedValues
  const timeLimitSql = hasManyValues ? timeLimitAt(store, { alias: rootAlias, field: store.view.key }) : undefined
  // The time limit is the first condition, so that it is evaluated for every row: SQLite stops at the first condition
  // of an AND that is false.
  return { sql: combineSql('and', [timeLimitSql, sql, keysetPredicate].filter(Boolean) as string[]), parameters }
}

/**
 * Maximum number of bound values for which a statement needs no time limit: with so few short values, SQLite takes less
 * than a second for 100,000 rows.
 */
const maxUncheckedValues = 64

/**
 * Whether a comparison may take long for a single row, so that the time is checked for each row for which it is
 * evaluated: a pattern may be compared with a long text, and a long value of a related record is read again for each
 * record that refers to it. SQLite may evaluate it before it reads a row of any other table, and then not read one.
 */
function mayReadLongValues({ dataSource }: Store, { on, operator }: Comparison): boolean {
  if (isPattern(operator)) return true
  return on.alias !== rootAlias && on.field.columns.some((column) => longBytes(column, dataSource) !== undefined)
}

/** Predicate that checks the time for each row of a field's table. */
function timeLimitAt({ dataSource, dialect }: Store, { alias, field }: FieldRef): string | undefined {
  const [column] = field.columns.flatMap((stored) => stored.column.entityMetadata.primaryColumns)
  if (column === undefined) return undefined
  return dialect.timeLimitSql(
    dataSource,
    `${dataSource.driver.escape(alias)}.${dataSource.driver.escape(column.databaseName)}`,
  )
}

/**
 * Combines the SQL of conditions. `not` is `IS NOT TRUE`, which is also true if the condition is unknown (null).
 */
const combineSql: ConditionVisitor['combine'] = (type, parts) => {
  if (type === 'not') return `(${parts.join()}) IS NOT TRUE`
  return parts.length > 1 ? `(${parts.join(type === 'and' ? ' AND ' : ' OR ')})` : parts.join()
}

/** Whether a condition of a subquery is true if there is no related record (all columns null), as `is=null` is. */
function holdsForNull(condition: Condition, values: Query['values']): boolean {
  if (condition.type === 'compare') {
    return condition.operator === 'is' && (values[condition.valuesIndex] ?? []).includes('null')
  }
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

function countSubqueries(condition: Condition): number {
  if (condition.type === 'compare') return 0
  if (condition.type === 'exists') return 1 + countSubqueries(condition.where)
  if (condition.type === 'not') return countSubqueries(condition.condition)
  return condition.conditions.reduce((sum, part) => sum + countSubqueries(part), 0)
}
