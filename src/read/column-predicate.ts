import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import type { Dialect, Precision } from '../dialect/dialect'
import { dialectOf } from '../dialect/dialect-of'
import { inList, padList } from '../dialect/in-list'
import { type Combination, rootAlias } from '../query/query'
import type { StoredColumn } from '../schema/stored-column'
import { resolution } from '../value/date-time'
import type { OperatorName } from '../value/value-type'
import { toBindParameter } from './row'
import { isStoredNull, showsNullAsValue, storesNullAsValue } from './transformed-nulls'

/** Left side of a comparison: a column as SQL, its type, and how values are bound. */
export interface Side {
  /** SQL of the column, as it is compared. */
  readonly column: string
  /** Alias of the table of the column; undefined for an aggregate. */
  readonly alias?: string
  readonly stored: StoredColumn
  readonly dataSource: DataSource
  readonly bind: Bind
}

type ToSql = (side: Side, values: readonly unknown[]) => string

/** Returns the SQL of a comparison of one column with values. All values are bind parameters. */
export function compareColumn(side: Side, operator: OperatorName, values: readonly unknown[]): string {
  const { nulls } = side.stored.valueType
  if (nulls === undefined || operator === 'is') return compareStored(side, operator, values)
  const others = values.filter((value) => !nulls.isStoredAsNull(value))
  if (operator === 'ne') return differsSql(side, values, others)
  if (operator === 'eq' || operator === 'in') {
    const findsNull = values.some((value) => isStoredNull(side.stored, value))
    const conditions = [
      ...(others.length > 0 ? [compareStored(side, operator, others)] : []),
      ...(findsNull ? [storedNullSql(side)] : []),
    ]
    return conditions.length > 0 ? anySql(conditions) : noRow
  }
  // Filters refuse such values; a search may have a pattern that the transformer stores as null.
  return others.length < values.length ? noRow : compareStored(side, operator, values)
}

/** Compares the stored values with the values as the database stores them, of which none is null. */
function compareStored(side: Side, operator: OperatorName, values: readonly unknown[]): string {
  const comparisons = side.stored.valueType.upperBound === undefined ? exactComparisons : rangeComparisons
  return comparisons[operator](side, values)
}

/** @param others the values that are not stored as null */
function differsSql(side: Side, values: readonly unknown[], others: readonly unknown[]): string {
  const { stored, column } = side
  const differs = allSql([
    others.length > 0 ? compareStored(side, 'ne', others) : `${column} IS NOT NULL`,
    ...(storesNullAsValue(stored) ? [`NOT (${equalsAny(side, [null])})`] : []),
  ])
  const findsNull = showsNullAsValue(stored) && !values.some((value) => isStoredNull(stored, value))
  return findsNull ? anySql([differs, storedNullSql(side)]) : differs
}

/** Condition that a record exists and null is stored in its column. The columns of a missing related record are null too. */
function storedNullSql({ column, stored, dataSource, alias }: Side): string {
  const [key] = stored.column.entityMetadata.primaryColumns
  if (alias === undefined || alias === rootAlias || key === undefined) return `${column} IS NULL`
  return `(${column} IS NULL AND ${dataSource.driver.escape(alias)}.${dataSource.driver.escape(key.databaseName)} IS NOT NULL)`
}

/** Returns the SQL of the condition that a column has the value that the database stores for a value. */
export function equalsStored(side: Side, value: unknown): string {
  const { dataSource, stored, column } = side
  const exact = (): string => compareStored(side, 'eq', [value])
  const bindValue = (): string => bindStored(side, value)
  return dialectOf(dataSource).equalsStored(stored, column, dataSource, bindValue, exact) ?? exact()
}

/** Whether the SQL depends only on the number of values, and each value is bound once, in order. */
export function bindsEachValue(stored: StoredColumn, operator: OperatorName, values: readonly unknown[]): boolean {
  const { upperBound, nulls } = stored.valueType
  if (upperBound !== undefined || !valueOperators.has(operator)) return false
  if (nulls === undefined) return true
  return !showsNullAsValue(stored) && !storesNullAsValue(stored) && !values.some(nulls.isStoredAsNull)
}

/**
 * Operators whose SQL depends only on the number of values, and that bind each value once, in order. This is a fast path:
 * the SQL of the other operators is built for each request. Not `is`, whose SQL depends on the values, and not `like`
 * and `ilike`, which bind a converted value.
 */
const valueOperators: ReadonlySet<OperatorName> = new Set(['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in'])

/** Binds a value as the database stores it. @returns the SQL to compare the column with */
function bindStored({ dataSource, stored, bind }: Side, value: unknown): string {
  return dialectOf(dataSource).operandSql(stored, bind(toBindParameter(dataSource, stored, value)))
}

/** Maximum number of conditions in one chain. For SQLite each OR or AND of a chain is a further level of depth. */
const maxChainLength = 64

/** Combines conditions. Many become a balanced tree, because SQLite limits the depth of expressions. */
function chainSql(operator: 'AND' | 'OR', conditions: readonly string[]): string {
  if (conditions.length <= maxChainLength) return `(${conditions.join(` ${operator} `)})`
  const middle = conditions.length >> 1
  return `(${chainSql(operator, conditions.slice(0, middle))} ${operator} ${chainSql(operator, conditions.slice(middle))})`
}

export const anySql = (conditions: readonly string[]): string => chainSql('OR', conditions)
export const allSql = (conditions: readonly string[]): string => chainSql('AND', conditions)

/** Condition that holds for no row. */
const noRow = '1 = 0'

/** Negates the SQL of a condition; empty SQL is true for every row. */
export const negateSql = ({ notTrueSql }: Dialect, part: string): string => (part === '' ? noRow : notTrueSql(part))

/** Combines the SQL of conditions; empty SQL is true for every row. */
export function combineSql(type: Combination['type'], parts: readonly string[]): string {
  if (type === 'or' && parts.length === 0) return noRow
  if (type === 'or' && parts.includes('')) return ''
  const conditions = parts.filter((part) => part !== '')
  if (conditions.length <= 1) return conditions.join()
  return type === 'and' ? allSql(conditions) : anySql(conditions)
}

/** Combines the SQL of conditions with AND; empty SQL holds for every row. */
export const andSql = (conditions: readonly string[]): string => combineSql('and', conditions)

const isSql: ToSql = (side, values) =>
  anySql(
    values.map((value) => {
      if (value !== 'null' && value !== 'not_null') return compareColumn(side, 'eq', [value])
      const isNull = `${side.column} IS ${value === 'null' ? 'NULL' : 'NOT NULL'}`
      if (!storesNullAsValue(side.stored)) return isNull
      const equalsNull = equalsAny(side, [null])
      return value === 'null' ? anySql([isNull, equalsNull]) : allSql([isNull, `NOT (${equalsNull})`])
    }),
  )

const equalsAny: ToSql = (side, values) =>
  dialectOf(side.dataSource).equalsAny(
    side.stored,
    side.column,
    values.map((value) => bindStored(side, value)),
  )

const compareAll =
  (operator: string, bindValue: (side: Side, value: unknown) => string = bindStored): ToSql =>
  (side, values) =>
    allSql(values.map((value) => `${side.column} ${operator} ${bindValue(side, value)}`))

/** Binds a value for `<=` and `>`: the first must find the value in each stored form, the second in none. */
const bindGreatestForm = (side: Side, value: unknown): string =>
  dialectOf(side.dataSource).greatestFormSql(side.stored, bindStored(side, value))

const matchAny =
  (ignoreCase: boolean): ToSql =>
  ({ column, stored, dataSource, bind }, values) =>
    anySql(
      values.map((value) => {
        const pattern = String(toBindParameter(dataSource, stored, value))
        return dialectOf(dataSource).likeSql(stored, column, pattern, ignoreCase, bind)
      }),
    )

/** Comparisons with exact values. The {@link valueOperators} bind each value once, in order. */
const exactComparisons: Readonly<Record<OperatorName, ToSql>> = {
  eq: equalsAny,
  in: equalsAny,
  ne: (side, values) => allSql(values.map((value) => `NOT (${equalsAny(side, [value])})`)),
  lt: compareAll('<'),
  lte: compareAll('<=', bindGreatestForm),
  gt: compareAll('>', bindGreatestForm),
  gte: compareAll('>='),
  is: isSql,
  like: matchAny(false),
  ilike: matchAny(true),
}

/**
 * Whether a value must be compared exactly and not as a range. A transformer may store only a part of the value, such
 * as the day, or reverse the order. The stored upper bound is then not greater than the stored value, so that the range
 * would be empty.
 */
function isSingle({ dataSource, stored }: Side, value: unknown): boolean {
  if (stored.valueColumn.transformer === undefined) return false
  const upperBound = stored.valueType.upperBound?.(value)
  const toStored = (bound: unknown) => toBindParameter(dataSource, stored, bound) as number | string | Date
  return upperBound !== undefined && !(toStored(value) < toStored(upperBound))
}

/** Binds the exclusive upper bound of a value's range. @returns undefined if the range has no upper bound */
function bindUpperBound(side: Side, value: unknown): string | undefined {
  const upperBound = side.stored.valueType.upperBound?.(value)
  return upperBound === undefined ? undefined : bindStored(side, upperBound)
}

function rangeSql(side: Side, value: unknown): string {
  const from = `${side.column} >= ${bindStored(side, value)}`
  const upperBound = bindUpperBound(side, value)
  return upperBound === undefined ? from : `(${from} AND ${side.column} < ${upperBound})`
}

const beforeUpperBoundSql = (side: Side, value: unknown): string => {
  const upperBound = bindUpperBound(side, value)
  return upperBound === undefined ? `${side.column} IS NOT NULL` : `${side.column} < ${upperBound}`
}

const atOrAfterUpperBoundSql = (side: Side, value: unknown): string => {
  const upperBound = bindUpperBound(side, value)
  return upperBound === undefined ? '1 = 0' : `${side.column} >= ${upperBound}`
}

/**
 * Maximum number of values that are compared one by one with OR, which can use an index. Longer lists become one IN
 * over the truncated column: with OR, 500 dates took SQLite 7 seconds for 100,000 rows. Columns in which a transformer
 * stores dates as numbers or texts cannot be truncated.
 */
const maxAlternatives = 4

/** Whether a value is a date-time with milliseconds. Other values have the precision in which records show them. */
const isToMillisecond = (value: unknown): boolean => value instanceof Date && resolution(value) === 1

const inRangesSql: ToSql = (side, values) => {
  if (values.length <= maxAlternatives || !side.stored.isTemporal) return anyRangeSql(side, values)
  const shownValues = values.filter((value) => !isToMillisecond(value))
  const millisecondValues = values.filter(isToMillisecond)
  return anySql([
    ...(shownValues.length > 0 ? [truncatedInSql(side, 'shown', shownValues)] : []),
    ...(millisecondValues.length > 0 ? [truncatedInSql(side, 'milliseconds', millisecondValues)] : []),
  ])
}

function anyRangeSql(side: Side, values: readonly unknown[]): string {
  const singles = new Set(values.filter((value) => isSingle(side, value)))
  const ranges = values.filter((value) => !singles.has(value))
  return anySql([
    ...(singles.size > 0 ? [equalsAny(side, [...singles])] : []),
    ...ranges.map((value) => rangeSql(side, value)),
  ])
}

function truncatedInSql(side: Side, precision: Precision, values: readonly unknown[]): string {
  const bound = padList(values).map((value) => bindStored(side, value))
  return inList(truncatedSql(side, precision), bound)
}

const truncatedSql = ({ dataSource, stored, column }: Side, precision: Precision): string =>
  dialectOf(dataSource).truncateSql(stored, column, precision)

/** Row comparison: predicate that the tuple of columns equals one of the tuples of values. */
export function equalsAnyRowSql(sides: readonly Side[], rows: readonly (readonly unknown[])[]): string {
  const [{ dataSource } = {}] = sides
  const hasMilliseconds = rows.flat().some(isToMillisecond)
  if (dataSource === undefined || rows.length <= maxAlternatives || hasMilliseconds) {
    return anySql(rows.map((row) => allSql(sides.map((side, index) => compareColumn(side, 'eq', [row[index]])))))
  }
  return dialectOf(dataSource).equalsAnyRow(
    sides.map(({ stored }) => stored),
    sides.map((side) => (side.stored.valueType.upperBound === undefined ? side.column : truncatedSql(side, 'shown'))),
    rows.map((row) => sides.map((side, index) => bindStored(side, row[index]))),
  )
}

/** Comparison that must be true for all values. Values for which {@link isSingle} is true are compared exactly. */
const compareRanges =
  (operator: OperatorName, compareRange: (side: Side, value: unknown) => string): ToSql =>
  (side, values) =>
    allSql(
      values.map((value) =>
        isSingle(side, value) ? exactComparisons[operator](side, [value]) : compareRange(side, value),
      ),
    )

/**
 * Comparisons with values that stand for a range. A date-time is a range because it is shown to the second only
 * (specification: Date-times); times and dates are ranges because SQLite may store more digits than are shown.
 */
const rangeComparisons: Readonly<Record<OperatorName, ToSql>> = {
  ...exactComparisons,
  eq: inRangesSql,
  in: inRangesSql,
  ne: compareRanges('ne', (side, value) => `NOT (${rangeSql(side, value)})`),
  lte: compareRanges('lte', beforeUpperBoundSql),
  gt: compareRanges('gt', atOrAfterUpperBoundSql),
}
