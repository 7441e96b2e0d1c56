import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import { padList } from '../dialect/in-list'
import type { Comparison } from '../query/query'
import type { OperatorName } from '../value/value-type'
import {
  allSql,
  anySql,
  bindsEachValue,
  compareColumn,
  equalsAnyRowSql,
  equalsStored,
  type Side,
} from './column-predicate'
import { comparisonColumnSql, toBindParameter } from './row'

/** Whether the operator compares with a list: the comparison holds for any of its values. */
const isList = (operator: OperatorName): boolean => operator === 'eq' || operator === 'in'

/** Writes a comparison as SQL. All values are bound, so the SQL contains no value. */
export function comparisonSql(
  { on, operator, asStored }: Comparison,
  operands: readonly unknown[],
  dataSource: DataSource,
  bind: Bind,
): string {
  const sides = on.field.columns.map(
    (stored): Side => ({
      column: comparisonColumnSql(dataSource, stored, on.alias),
      alias: on.alias,
      stored,
      dataSource,
      bind,
    }),
  )
  const values = isList(operator) ? padList(operands) : operands
  const [side] = sides
  if (side !== undefined && sides.length === 1) {
    return asStored ? equalsStored(side, operands[0]) : compareColumn(side, operator, values)
  }
  if (operator === 'is')
    return anySql(values.map((value) => (value === 'null' ? isNullSql(sides) : isNotNullSql(sides))))
  return compareRows(sides, operator, values as readonly (readonly unknown[])[])
}

/**
 * Binds the same values as {@link comparisonSql}, in the same order.
 * @returns a key that determines the SQL: the number of values if the SQL depends only on that, otherwise the SQL
 * itself
 */
export function bindComparisonValues(
  comparison: Comparison,
  operands: readonly unknown[],
  dataSource: DataSource,
  bind: Bind,
): string {
  const { on, operator, asStored } = comparison
  const [column, ...others] = on.field.columns
  if (column === undefined || others.length > 0 || asStored || !bindsEachValue(column, operator, operands)) {
    return comparisonSql(comparison, operands, dataSource, bind)
  }
  const values = isList(operator) ? padList(operands) : operands
  for (const value of values) bind(toBindParameter(dataSource, column, value))
  return String(values.length)
}

/** Compares several columns with rows of values. A row is equal if all its columns are, and null if one of them is. */
function compareRows(sides: readonly Side[], operator: OperatorName, values: readonly (readonly unknown[])[]): string {
  const equal = equalsAnyRowSql(sides, values)
  // In parentheses, because NOT may bind more strongly than IN: MySQL's `sql_mode` HIGH_NOT_PRECEDENCE.
  return operator === 'ne' ? `(NOT (${equal}) AND ${isNotNullSql(sides)})` : equal
}

const isNullSql = (sides: readonly Side[]): string => anySql(sides.map(({ column }) => `${column} IS NULL`))
const isNotNullSql = (sides: readonly Side[]): string => allSql(sides.map(({ column }) => `${column} IS NOT NULL`))
