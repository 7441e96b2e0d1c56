import type { Bind } from '../connection/compile'
import {
  type Aggregate,
  type AggregateQuery,
  type HavingComparison,
  isFloat,
  isInteger,
} from '../query/aggregate-query'
import { isNumeric, type OperatorName } from '../value/value-type'
import { aggregateMember, storedColumn } from './aggregate-sql'
import { compareColumn } from './column-predicate'
import type { Store } from './store'

/** Collects the SQL and the values of filters on groups. */
export function havingOf(store: Store, { having }: AggregateQuery, bind: Bind): readonly string[] {
  return having.map((comparison) => havingSql(store, comparison, bind))
}

/** Moves the decimal point of a number to the right. */
function movePoint(text: string, places: number): string {
  const [whole = '', fraction = ''] = text.split('.')
  const digits = fraction.padEnd(places, '0')
  const rest = digits.slice(places)
  return `${whole}${digits.slice(0, places)}${rest === '' ? '' : `.${rest}`}`
}

const symbols: Readonly<Record<string, string>> = { eq: '=', ne: '<>', lt: '<', lte: '<=', gt: '>', gte: '>=' }

/** Writes a comparison of an aggregate as SQL. The values are bound. */
function havingSql(store: Store, { aggregate, operator, values }: HavingComparison, bind: Bind): string {
  const { dialect, dataSource } = store
  const { sql } = aggregateMember(store, aggregate)
  if (aggregate.function === 'min' || aggregate.function === 'max') {
    const [stored] = storedColumn(store, aggregate.on)
    const isNumber = isNumeric(stored.valueType)
    const bindOperand: Bind = (value) => (isNumber ? dialect.numberOperandSql(bind(value)) : bind(value))
    return compareColumn({ column: sql, stored, dataSource, bind: bindOperand }, operator, values)
  }
  const [value] = values
  if (isFloat(aggregate)) return `${sql} ${symbols[operator]} ${bind(value)}`
  const shift = shiftOf(store, aggregate)
  const operand = movePoint(String(value), shift)
  const compare = (symbol: string, text: string): string => `${sql} ${symbol} ${dialect.exactOperandSql(bind(text))}`
  const isWhole = shift > 0 || isInteger(aggregate)
  return isWhole ? integerPredicate(sql, operator, operand, compare) : compare(symbols[operator] ?? '', operand)
}

/** Predicate for an integer. An operand with a fraction is replaced, because SQLite would round it to a double. */
function integerPredicate(
  sql: string,
  operator: OperatorName,
  operand: string,
  compare: (symbol: string, text: string) => string,
): string {
  const [whole = '', fraction = ''] = operand.split('.')
  const hasFraction = /[1-9]/.test(fraction)
  if (!hasFraction) return compare(symbols[operator] ?? '', whole)
  if (operator === 'eq') return '1 = 0'
  if (operator === 'ne') return `${sql} IS NOT NULL`
  return compare(
    operator === 'gt' || operator === 'gte' ? '>' : '<=',
    whole.startsWith('-') ? String(BigInt(whole) - 1n) : whole,
  )
}

function shiftOf(store: Store, aggregate: Aggregate): number {
  if (aggregate.function !== 'sum') return 0
  return store.dialect.exactSumSql(...storedColumn(store, aggregate.on))?.shift ?? 0
}
