import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import type { Digits } from '../dialect/dialect'
import { dialectOf } from '../dialect/dialect-of'
import { inList, padList } from '../dialect/in-list'
import type { StoredColumn } from '../schema/stored-column'
import { resolution } from '../value/date-time'
import type { OperatorName } from '../value/value-type'
import { toParameter } from './row'

/** A column of a condition, and how to compare it. */
export interface Side {
  readonly column: string
  readonly stored: StoredColumn
  readonly dataSource: DataSource
  readonly bind: Bind
}

type ToSql = (side: Side, values: readonly unknown[]) => string

/** Compares a column with values, of which each is bound. */
export function compareColumn(side: Side, operator: OperatorName, values: readonly unknown[]): string {
  const table = side.stored.valueType.upperBound === undefined ? scalars : spans
  return table[operator](side, values)
}

/** Whether the text depends on nothing but how many values there are, each of which is bound once, in order. */
export function bindsEach({ valueType }: StoredColumn, operator: OperatorName): boolean {
  return valueType.upperBound === undefined && !bindsOther.has(operator)
}

/** Operators that write a value into the text, or bind another one in its place. */
const bindsOther: ReadonlySet<OperatorName> = new Set(['is', 'like', 'ilike'])

/** Binds a value of the column's kind as the database stores it. */
function bindStored({ dataSource, stored, bind }: Side, value: unknown): string {
  return dialectOf(dataSource).operand(stored, bind(toParameter(dataSource, stored, value)))
}

export const any = (conditions: readonly string[]): string => `(${conditions.join(' OR ')})`
export const all = (conditions: readonly string[]): string => `(${conditions.join(' AND ')})`

const isAny: ToSql = (side, values) =>
  any(
    values.map((value) => {
      if (value === 'null') return `${side.column} IS NULL`
      return value === 'not_null' ? `${side.column} IS NOT NULL` : `${side.column} = ${bindStored(side, value)}`
    }),
  )

const equalsAny: ToSql = (side, values) =>
  dialectOf(side.dataSource).equalsAny(
    side.column,
    side.stored.valueType,
    values.map((value) => bindStored(side, value)),
  )

const compareAll =
  (operator: string): ToSql =>
  (side, values) =>
    all(values.map((value) => `${side.column} ${operator} ${bindStored(side, value)}`))

const matchAny =
  (ignoreCase: boolean): ToSql =>
  ({ column, stored, dataSource, bind }, values) =>
    any(
      values.map((value) => {
        const pattern = String(toParameter(dataSource, stored, value))
        return dialectOf(dataSource).matches(column, pattern, ignoreCase, bind)
      }),
    )

/** All but those of {@link bindsOther} bind each value once, in order. */
const scalars: Readonly<Record<OperatorName, ToSql>> = {
  eq: equalsAny,
  in: equalsAny,
  ne: (side, values) => all(values.map((value) => `NOT (${equalsAny(side, [value])})`)),
  lt: compareAll('<'),
  lte: compareAll('<='),
  gt: compareAll('>'),
  gte: compareAll('>='),
  is: isAny,
  like: matchAny(false),
  ilike: matchAny(true),
}

/** What begins where the value ends, bound; undefined behind the last value. */
function bindEnd(side: Side, value: unknown): string | undefined {
  const end = side.stored.valueType.upperBound?.(value)
  return end === undefined ? undefined : bindStored(side, end)
}

function within(side: Side, value: unknown): string {
  const from = `${side.column} >= ${bindStored(side, value)}`
  const end = bindEnd(side, value)
  return end === undefined ? from : `(${from} AND ${side.column} < ${end})`
}

const untilEnd = (side: Side, value: unknown): string => {
  const end = bindEnd(side, value)
  return end === undefined ? `${side.column} IS NOT NULL` : `${side.column} < ${end}`
}

const fromEnd = (side: Side, value: unknown): string => {
  const end = bindEnd(side, value)
  return end === undefined ? '1 = 0' : `${side.column} >= ${end}`
}

/**
 * The longest list whose members are compared one by one, which can use an index. Longer ones are looked up as a whole: 500 dates took
 * SQLite 7 seconds for 100,000 rows, and more than 256 were too deep an expression for it.
 */
const maxAlternatives = 4

/** Whether a value is one of a date-time to the millisecond, else one to what is shown. */
const isToMillisecond = (value: unknown): boolean => value instanceof Date && resolution(value) === 1

const withinAny: ToSql = (side, values) => {
  if (values.length <= maxAlternatives) return any(values.map((value) => within(side, value)))
  const shown = values.filter((value) => !isToMillisecond(value))
  const exact = values.filter(isToMillisecond)
  return any([
    ...(shown.length > 0 ? [truncatedIn(side, 'shown', shown)] : []),
    ...(exact.length > 0 ? [truncatedIn(side, 'milliseconds', exact)] : []),
  ])
}

function truncatedIn(side: Side, digits: Digits, values: readonly unknown[]): string {
  const bound = padList(values).map((value) => bindStored(side, value))
  return inList(truncated(side, digits), bound)
}

const truncated = ({ dataSource, stored, column }: Side, digits: Digits): string =>
  dialectOf(dataSource).truncated(stored, column, digits)

/** Whether the columns are equal to the values of a row, of any of them. */
export function isAnyRow(sides: readonly Side[], rows: readonly (readonly unknown[])[]): string {
  const [{ dataSource } = {}] = sides
  const isExact = rows.flat().some(isToMillisecond)
  if (dataSource === undefined || rows.length <= maxAlternatives || isExact) {
    return any(rows.map((row) => all(sides.map((side, index) => compareColumn(side, 'eq', [row[index]])))))
  }
  return dialectOf(dataSource).equalsAnyRow(
    sides.map((side) => (side.stored.valueType.upperBound === undefined ? side.column : truncated(side, 'shown'))),
    sides.map(({ stored }) => stored.valueType),
    rows.map((row) => sides.map((side, index) => bindStored(side, row[index]))),
  )
}

/** A date-time is a span, because it is shown to the second only (specification: Date-times); so are times, and dates, since SQLite may store more. */
const spans: Readonly<Record<OperatorName, ToSql>> = {
  ...scalars,
  eq: withinAny,
  in: withinAny,
  ne: (side, values) => all(values.map((value) => `NOT (${within(side, value)})`)),
  lte: (side, values) => all(values.map((value) => untilEnd(side, value))),
  gt: (side, values) => all(values.map((value) => fromEnd(side, value))),
}
