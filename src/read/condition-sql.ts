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

/** Visits all parts of a condition in a fixed order, in which their values are bound. */
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
 * @returns the part of the cache key that depends on the values, such as their number. It is cheaper than writing the
 * SQL, which happens only for a new cache key
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

/** Writes the condition and the cursor of a query as SQL. Its placeholders are numbered as in {@link bindConditionValues}. */
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
  // The time limit comes first because SQLite does not evaluate the conditions after one that is false.
  return { sql: combineSql('and', [timeLimitSql, sql, keysetPredicate].filter(Boolean) as string[]), parameters }
}

/**
 * Maximum number of bound values without a time-limit condition: with at most this many, SQLite takes less than a
 * second for 100,000 rows.
 */
const maxUncheckedValues = 64

function timeLimitCondition(dataSource: DataSource, { resource }: Query): string | undefined {
  const [column] = resource.key.columns
  return column && dialectOf(dataSource).whileInTime(dataSource, columnSql(dataSource, column, rootAlias))
}

/**
 * Joins the SQL of conditions. `not` is `IS NOT TRUE`, which also holds where the condition is unknown because of
 * nulls.
 */
const combineSql: ConditionVisitor['combine'] = (type, parts) => {
  if (type === 'not') return `(${parts.join()}) IS NOT TRUE`
  return parts.length > 1 ? `(${parts.join(type === 'and' ? ' AND ' : ' OR ')})` : parts.join()
}

/** Whether a condition of a subquery holds for a missing record, whose columns are all null, as `is=null` does. */
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
