import type { DataSource, ObjectLiteral } from 'typeorm'
import { type Bind, gather } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import { type Combination, type Comparison, type Condition, type Query, rootAlias, type Some } from '../query/query'
import { bindComparisonValues, comparisonSql } from './comparison-sql'
import { keysetSql } from './keyset'
import { columnSql } from './row'
import { type ConditionSql, existsRelatedSql } from './select-query'

/** Turns each part of a condition into a string: SQL, or a cache key. */
interface ConditionVisitor {
  readonly compare: (comparison: Comparison, values: readonly unknown[]) => string
  readonly some: (some: Some, where: string, isNested: boolean) => string
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
  if (condition.type === 'compare') return visitor.compare(condition, values[condition.slot] ?? [])
  if (condition.type === 'some')
    return visitor.some(condition, visitCondition(condition.where, values, visitor, true), isNested)
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
export function bindConditionValues(dataSource: DataSource, query: Query, bind: Bind): string {
  const { scope, values } = query
  const key = visitCondition(scope.where, values, {
    compare: (comparison, operands) => bindComparisonValues(comparison, operands, dataSource, bind),
    some: (_, where) => where,
    combine: (_, parts) => parts.join('\n'),
  })
  const keysetPredicate = keysetSql(dataSource, query, bind)
  return keysetPredicate === undefined ? key : `${key}\n${keysetPredicate}`
}

/** Builds the SQL of a query's condition and cursor. It binds the same values as {@link bindConditionValues}. */
export function conditionSql(dataSource: DataSource, query: Query): ConditionSql {
  const { scope, values } = query
  const { values: boundValues, bind } = gather()
  const parameters: ObjectLiteral = {}
  const sql = visitCondition(scope.where, values, {
    compare: (comparison, operands) => comparisonSql(comparison, operands, dataSource, bind),
    some: (some, where, isNested) => {
      const holdsForNulls = holdsForNull(some.where, values)
      const isNestedSubquery = isNested || hasMember(some.where, ({ type }) => type === 'some')
      return existsRelatedSql(dataSource, some, { sql: where, holdsForNulls }, isNestedSubquery, parameters)
    },
    combine: combineSql,
  })
  const keysetPredicate = keysetSql(dataSource, query, bind)
  const timeLimitSql = boundValues.length > maxUncheckedValues ? timeLimitCondition(dataSource, query) : undefined
  // The time limit is the first condition, so that it is evaluated for every row: SQLite stops at the first condition
  // of an AND that is false.
  return { sql: combineSql('and', [timeLimitSql, sql, keysetPredicate].filter(Boolean) as string[]), parameters }
}

/**
 * Maximum number of bound values for which the statement needs no time limit: with so few values, SQLite takes less
 * than a second for 100,000 rows.
 */
const maxUncheckedValues = 64

function timeLimitCondition(dataSource: DataSource, { resource }: Query): string | undefined {
  const [column] = resource.key.columns
  return column && dialectOf(dataSource).whileInTime(dataSource, columnSql(dataSource, column, rootAlias))
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
    return condition.operator === 'is' && (values[condition.slot] ?? []).includes('null')
  }
  if (condition.type === 'some') return holdsForNull(condition.where, values)
  return condition.type === 'and' && condition.conditions.every((part) => holdsForNull(part, values))
}

function hasMember(condition: Condition, matches: (part: Condition) => boolean): boolean {
  return condition.type === 'and' && condition.conditions.some(matches)
}
