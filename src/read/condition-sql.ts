import type { DataSource, ObjectLiteral } from 'typeorm'
import { type Bind, gather } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import { type Combination, type Comparison, type Condition, type Query, rootAlias, type Some } from '../query/query'
import { bindComparison, comparisonSql } from './comparison-sql'
import { keysetSql } from './keyset'
import { columnSql } from './row'
import { someSql, type WrittenCondition } from './select-query'

/** What the parts of a condition become. */
interface Writer {
  readonly compare: (comparison: Comparison, values: readonly unknown[]) => string
  readonly some: (some: Some, where: string, isNested: boolean) => string
  readonly combine: (type: Combination['type'] | 'not', parts: readonly string[]) => string
}

/** Visits a condition, always in the same order: that in which its values are bound. */
function write(condition: Condition, values: Query['values'], writer: Writer, isNested = false): string {
  if (condition.type === 'compare') return writer.compare(condition, values[condition.slot] ?? [])
  if (condition.type === 'some') return writer.some(condition, write(condition.where, values, writer, true), isNested)
  const parts = condition.type === 'not' ? [condition.condition] : condition.conditions
  return writer.combine(
    condition.type,
    parts.map((part) => write(part, values, writer, isNested)),
  )
}

/**
 * Binds the values of a plan.
 * @returns what the SQL of its condition depends on besides its names: most of the SQL is not written for each request
 */
export function bindCondition(dataSource: DataSource, plan: Query, bind: Bind): string {
  const { scope, values } = plan
  const key = write(scope.where, values, {
    compare: (comparison, given) => bindComparison(comparison, given, dataSource, bind),
    some: (_, where) => where,
    combine: (_, parts) => parts.join('\n'),
  })
  const after = keysetSql(dataSource, plan, bind)
  return after === undefined ? key : `${key}\n${after}`
}

/** Writes the condition of a plan as SQL, with the placeholders of {@link bindCondition}. */
export function conditionSql(dataSource: DataSource, plan: Query): WrittenCondition {
  const { scope, values } = plan
  const { values: bound, bind } = gather()
  const parameters: ObjectLiteral = {}
  const sql = write(scope.where, values, {
    compare: (comparison, given) => comparisonSql(comparison, given, dataSource, bind),
    some: (some, where, isNested) => {
      const holdsForNulls = holdsForNull(some.where, values)
      const isChained = isNested || isCombined(some.where, ({ type }) => type === 'some')
      return someSql(dataSource, some, { sql: where, holdsForNulls }, isChained, parameters)
    },
    combine: combineSql,
  })
  const after = keysetSql(dataSource, plan, bind)
  const inTime = bound.length > maxUncheckedValues ? inTimeSql(dataSource, plan) : undefined
  // First, since SQLite leaves out the conditions after one that does not hold.
  return { sql: combineSql('and', [inTime, sql, after].filter(Boolean) as string[]), parameters }
}

/** Values of a condition whose time is not checked: with no more of them, SQLite takes less than a second for 100,000 rows. */
const maxUncheckedValues = 64

function inTimeSql(dataSource: DataSource, { resource }: Query): string | undefined {
  const [column] = resource.key.columns
  return column && dialectOf(dataSource).whileInTime(dataSource, columnSql(dataSource, column, rootAlias))
}

/** SQL has three truth values: what is unknown because of nulls is not true, so that its complement is. */
const combineSql: Writer['combine'] = (type, parts) => {
  if (type === 'not') return `(${parts.join()}) IS NOT TRUE`
  return parts.length > 1 ? `(${parts.join(type === 'and' ? ' AND ' : ' OR ')})` : parts.join()
}

/** Whether a condition of a subquery holds where every column is null, as `is=null` does. */
function holdsForNull(condition: Condition, values: Query['values']): boolean {
  if (condition.type === 'compare') {
    return condition.operator === 'is' && (values[condition.slot] ?? []).includes('null')
  }
  if (condition.type === 'some') return holdsForNull(condition.where, values)
  return condition.type === 'and' && condition.conditions.every((part) => holdsForNull(part, values))
}

function isCombined(condition: Condition, matches: (part: Condition) => boolean): boolean {
  return condition.type === 'and' && condition.conditions.some(matches)
}
