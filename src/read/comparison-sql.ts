import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import { padList } from '../dialect/in-list'
import type { Comparison } from '../query/query'
import type { OperatorName } from '../value/value-type'
import { all, any, bindsEach, compareColumn, isAnyRow, type Side } from './column-predicate'
import { comparedSql, toParameter } from './row'

/** Whether a comparison holds for any of its values. */
const isList = (operator: OperatorName): boolean => operator === 'eq' || operator === 'in'

/** A comparison with values as SQL. Every value is bound, none is written into the text. */
export function comparisonSql(
  { on, operator }: Comparison,
  given: readonly unknown[],
  dataSource: DataSource,
  bind: Bind,
): string {
  const sides = on.field.columns.map(
    (stored): Side => ({ column: comparedSql(dataSource, stored, on.alias), stored, dataSource, bind }),
  )
  const values = isList(operator) ? padList(given) : given
  const [side] = sides
  if (side !== undefined && sides.length === 1) return compareColumn(side, operator, values)
  if (operator === 'is') return any(values.map((value) => (value === 'null' ? isNull(sides) : isWhole(sides))))
  return compareWhole(sides, operator, values as readonly (readonly unknown[])[])
}

/**
 * Binds what {@link comparisonSql} does, in its order.
 * @returns what its text depends on: how many values there are, where that is all, else the text itself
 */
export function bindComparison(
  comparison: Comparison,
  given: readonly unknown[],
  dataSource: DataSource,
  bind: Bind,
): string {
  const { on, operator } = comparison
  const [column, ...others] = on.field.columns
  if (column === undefined || others.length > 0 || !bindsEach(column, operator)) {
    return comparisonSql(comparison, given, dataSource, bind)
  }
  const values = isList(operator) ? padList(given) : given
  for (const value of values) bind(toParameter(dataSource, column, value))
  return String(values.length)
}

/** A value of several columns is equal where each of them is, and null where one of them is. */
function compareWhole(sides: readonly Side[], operator: OperatorName, values: readonly (readonly unknown[])[]): string {
  const equal = isAnyRow(sides, values)
  return operator === 'ne' ? `(NOT ${equal} AND ${isWhole(sides)})` : equal
}

const isNull = (sides: readonly Side[]): string => any(sides.map(({ column }) => `${column} IS NULL`))
const isWhole = (sides: readonly Side[]): string => all(sides.map(({ column }) => `${column} IS NOT NULL`))
