import { exactDigits } from '../../schema/sqlite-types'
import { type AggregateSql, groupedLength, type PeriodName, plainGroup } from '../aggregate-sql'
import { sqliteCompared } from './cursor'

/** Date-times are stored as text in UTC, which starts with the date. */
const periods: Readonly<Record<PeriodName, (column: string) => string>> = {
  year: (column) => `substr(${column}, 1, 4) || '-01-01'`,
  quarter: (column) =>
    `substr(${column}, 1, 5) || printf('%02d', (CAST(substr(${column}, 6, 2) AS INTEGER) - 1) / 3 * 3 + 1) || '-01'`,
  month: (column) => `substr(${column}, 1, 7) || '-01'`,
  // The Sunday on or after the date, and from there back to Monday.
  week: (column) => `date(substr(${column}, 1, 10), 'weekday 0', '-6 days')`,
  day: (column) => `substr(${column}, 1, 10)`,
}

/** Aggregates on SQLite. */
export const sqliteAggregates: AggregateSql = {
  groupSql: (stored, column) => {
    const { name } = stored.valueType
    if (name === 'text') return plainGroup(`substr(${column}, 1, ${groupedLength}) COLLATE BINARY`)
    return plainGroup(name === 'date' ? periods.day(column) : sqliteCompared(stored, column))
  },
  // In parentheses, because an ordering and COLLATE may follow.
  periodSql: (_, column, part) => plainGroup(`(${periods[part](column)})`),
  // Decimals are summed as integers: doubles such as 0.1 have no exact sum.
  exactSumSql: ({ valueType: { name }, valueColumn: { precision, scale = 0 } }, column) => {
    if (name === 'integer') return { sum: `SUM(${column})`, shift: 0 }
    if (typeof precision !== 'number' || precision > exactDigits) return undefined
    return { sum: `SUM(CAST(ROUND(${column} * 1e${scale}) AS INTEGER))`, shift: scale }
  },
  numberTextSql: (expression) => `CAST(${expression} AS TEXT)`,
  doubleSql: (expression) => `CAST(${expression} AS REAL)`,
  // Decimals and integers beyond 2^53 are bound as text.
  numberOperandSql: (placeholder) => `CAST(${placeholder} AS NUMERIC)`,
  exactOperandSql: (placeholder) => `CAST(${placeholder} AS NUMERIC)`,
  computesInUtc: () => true,
}
