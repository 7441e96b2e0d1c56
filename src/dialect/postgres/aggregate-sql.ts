import type { StoredColumn } from '../../schema/stored-column'
import { type AggregateSql, groupedLength, isProcessUtc, plainGroup } from '../aggregate-sql'

const zonedTypes: ReadonlySet<string> = new Set(['timestamptz', 'timestamp with time zone'])
const isZoned = ({ valueColumn: { type } }: StoredColumn): boolean => zonedTypes.has(String(type))

/** Aggregates on PostgreSQL. */
export const postgresAggregates: AggregateSql = {
  // Some collations treat different texts as equal.
  groupSql: ({ valueType: { name } }, column) =>
    plainGroup(name === 'text' ? `left(${column}::text, ${groupedLength}) COLLATE "C"` : column),
  periodSql: (stored, column, part) => {
    const utc = isZoned(stored) ? `(${column} AT TIME ZONE 'UTC')` : `${column}::timestamp`
    // Not to_char, which returns null for infinity and does not distinguish years before Christ.
    const key = `date_trunc('${part}', ${utc})::date`
    return { key, read: `${key}::text` }
  },
  exactSumSql: ({ valueColumn: { type } }, column) => ({
    sum: type === 'money' ? `SUM(${column}::numeric)` : `SUM(${column})`,
    shift: 0,
  }),
  numberTextSql: (expression) => `${expression}::text`,
  doubleSql: (expression) => `${expression}::float8`,
  numberOperandSql: (placeholder) => placeholder,
  exactOperandSql: (placeholder) => `CAST(${placeholder} AS numeric)`,
  // pg writes a `timestamp` without time zone in the local time of this process.
  computesInUtc: (stored) => stored.valueType.name === 'date' || isZoned(stored) || isProcessUtc(),
}
