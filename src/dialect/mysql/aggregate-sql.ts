import { type AggregateSql, type GroupSql, groupedLength, isProcessUtc, type PeriodName } from '../aggregate-sql'
import { unpadded } from './padding'

const periods: Readonly<Record<PeriodName, (column: string) => string>> = {
  year: (column) => `DATE_FORMAT(${column}, '%Y-01-01')`,
  quarter: (column) => `CONCAT(DATE_FORMAT(${column}, '%Y-'), LPAD(QUARTER(${column}) * 3 - 2, 2, '0'), '-01')`,
  month: (column) => `DATE_FORMAT(${column}, '%Y-%m-01')`,
  week: (column) => `DATE_FORMAT(DATE_SUB(${column}, INTERVAL WEEKDAY(${column}) DAY), '%Y-%m-%d')`,
  day: (column) => `DATE_FORMAT(${column}, '%Y-%m-%d')`,
}

/** With `ONLY_FULL_GROUP_BY` an expression of the key is not accepted in SELECT. All values of a group are equal. */
const readAny = (key: string, value = key): GroupSql => ({ key, read: `MIN(${value})` })

/** Aggregates on MySQL and MariaDB. */
export const mysqlAggregates: AggregateSql = {
  groupSql: (stored, column) => {
    if (stored.valueType.name !== 'text') return readAny(column)
    // Most collations treat different texts as equal.
    const text = `CONVERT(LEFT(${unpadded(stored, column)}, ${groupedLength}) USING utf8mb4)`
    return readAny(`CAST(${text} AS BINARY)`, text)
  },
  periodSql: (_, column, part) => readAny(periods[part](column)),
  exactSumSql: (_, column) => ({ sum: `SUM(${column})`, shift: 0 }),
  numberTextSql: (expression) => `CAST(${expression} AS CHAR)`,
  doubleSql: (expression) => `(${expression} + 0e0)`,
  numberOperandSql: (placeholder) => placeholder,
  exactOperandSql: (placeholder) => `CAST(${placeholder} AS DECIMAL(65, 20))`,
  // The driver writes date-times in the time zone of its option, by default the local time of this process.
  computesInUtc: ({ valueType }, { options }) => {
    const { timezone = 'local' } = options as { readonly timezone?: string }
    return valueType.name === 'date' || (timezone === 'local' ? isProcessUtc() : /^(Z|\+00:00)$/.test(timezone))
  },
}
