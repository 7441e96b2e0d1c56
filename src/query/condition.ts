import type { DataSource } from 'typeorm'
import type { Comparison } from '../plan/plan'
import type { OperatorName } from '../value/kind'
import { all, any, bindsEach, compareColumn, type Side } from './column-condition'
import type { Bind } from './compile'
import { columnSql, toParameter } from './row'

/** A comparison with values as SQL. Every value is bound, none is written into the text. */
export function conditionSql(
  { on, operator }: Comparison,
  values: readonly unknown[],
  dataSource: DataSource,
  bind: Bind,
): string {
  const sides = on.field.columns.map(
    (stored): Side => ({ column: columnSql(dataSource, stored, on.alias), stored, dataSource, bind }),
  )
  const [side] = sides
  if (side !== undefined && sides.length === 1) return compareColumn(side, operator, values)
  if (operator === 'is') return any(values.map((value) => (value === 'null' ? isNull(sides) : isWhole(sides))))
  return compareWhole(sides, operator, values as readonly (readonly unknown[])[])
}

/**
 * Binds what {@link conditionSql} does, in its order.
 * @returns what its text depends on: how many values there are, where that is all, else the text itself
 */
export function bindCondition(
  comparison: Comparison,
  values: readonly unknown[],
  dataSource: DataSource,
  bind: Bind,
): string {
  const { on, operator } = comparison
  const [column, ...others] = on.field.columns
  if (column === undefined || others.length > 0 || !bindsEach(column, operator)) {
    return conditionSql(comparison, values, dataSource, bind)
  }
  for (const value of values) bind(toParameter(dataSource, column, value))
  return String(values.length)
}

/** A value of several columns is equal where each of them is, and null where one of them is. */
function compareWhole(sides: readonly Side[], operator: OperatorName, values: readonly (readonly unknown[])[]): string {
  const equal = any(values.map((parts) => all(sides.map((side, index) => compareColumn(side, 'eq', [parts[index]])))))
  return operator === 'ne' ? `(NOT ${equal} AND ${isWhole(sides)})` : equal
}

const isNull = (sides: readonly Side[]): string => any(sides.map(({ column }) => `${column} IS NULL`))
const isWhole = (sides: readonly Side[]): string => all(sides.map(({ column }) => `${column} IS NOT NULL`))
