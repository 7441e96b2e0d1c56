import type { DataSource } from 'typeorm'
import type { StoredColumn } from '../schema/stored-column'

/** Maximum number of characters by which texts are grouped, so that the size of a page of groups is limited. */
export const groupedLength = 1000

/** Expressions that identify and show a group. */
export interface GroupSql {
  /** Expression in GROUP BY and ORDER BY. */
  readonly key: string
  /** Expression that reads the value in SELECT. */
  readonly read: string
}

/** Exact sum of integers or decimals. */
export interface SumSql {
  /** The sum, to be compared and ordered. */
  readonly sum: string
  /** Number of decimal places by which the sum is larger than that of the values; 0 except on SQLite. */
  readonly shift: number
}

/** SQL expressions of aggregates. String parameters for columns are SQL. */
export interface AggregateSql {
  /** Groups by the values of a column. Texts are compared character by character. */
  readonly groupSql: (stored: StoredColumn, column: string) => GroupSql
  /** Groups by periods; reads the text `YYYY-MM-DD` of the first day in UTC. */
  readonly periodSql: (stored: StoredColumn, column: string, part: PeriodName) => GroupSql
  /** Exact sum of integers or decimals; undefined if the database cannot compute it. */
  readonly exactSumSql: (stored: StoredColumn, column: string) => SumSql | undefined
  /** Expression that reads an exact number as text. */
  readonly numberTextSql: (expression: string) => string
  /** Converts an exact number to double precision. */
  readonly doubleSql: (expression: string) => string
  /** Placeholder of a number that is compared with the result of a function, which has no column type. */
  readonly numberOperandSql: (placeholder: string) => string
  /** Placeholder of a decimal text as an exact number. */
  readonly exactOperandSql: (placeholder: string) => string
  /** Whether date-times of a column are in UTC where SQL computes with them. */
  readonly computesInUtc: (stored: StoredColumn, dataSource: DataSource) => boolean
}

/** Name of a period. */
export type PeriodName = 'year' | 'quarter' | 'month' | 'week' | 'day'

/** Whether the local time of this process is UTC. */
export function isProcessUtc(): boolean {
  return Intl.DateTimeFormat().resolvedOptions().timeZone === 'UTC'
}

/** Builds a group whose key is read as it is. */
export const plainGroup = (key: string): GroupSql => ({ key, read: key })
