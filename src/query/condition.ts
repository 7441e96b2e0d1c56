import type { DataSource } from 'typeorm'
import type { Comparison } from '../plan/plan'
import type { StoredColumn } from '../schema/stored-column'
import type { OperatorName } from '../value/kind'
import type { Bind } from './compile'
import { dialectOf } from './dialect-of'
import { columnSql, toParameter } from './row'

/** A column of a condition, and how to compare it. */
interface Side {
  readonly column: string
  readonly stored: StoredColumn
  readonly dataSource: DataSource
  readonly bind: Bind
}

type ToSql = (side: Side, values: readonly unknown[]) => string

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
  if (side !== undefined && sides.length === 1) return compare(side, operator, values)
  if (operator === 'is') return any(values.map((value) => (value === 'null' ? isNull(sides) : isWhole(sides))))
  return compareWhole(sides, operator, values as readonly (readonly unknown[])[])
}

/** Operators that write a value into the text, or bind another one in its place. */
const bindsOther: ReadonlySet<OperatorName> = new Set(['is', 'like', 'ilike'])

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
  if (column === undefined || others.length > 0 || column.kind.end !== undefined || bindsOther.has(operator)) {
    return conditionSql(comparison, values, dataSource, bind)
  }
  for (const value of values) bind(toParameter(dataSource, column, value))
  return String(values.length)
}

/** Binds a value of the column's kind as the database stores it. */
function bindStored({ dataSource, stored, bind }: Side, value: unknown): string {
  return bind(toParameter(dataSource, stored, value))
}

function compare(side: Side, operator: OperatorName, values: readonly unknown[]): string {
  const table = side.stored.kind.end === undefined ? scalars : spans
  return table[operator](side, values)
}

/** A value of several columns is equal where each of them is, and null where one of them is. */
function compareWhole(sides: readonly Side[], operator: OperatorName, values: readonly (readonly unknown[])[]): string {
  const equal = any(values.map((parts) => all(sides.map((side, index) => compare(side, 'eq', [parts[index]])))))
  return operator === 'ne' ? `(NOT ${equal} AND ${isWhole(sides)})` : equal
}

const isNull = (sides: readonly Side[]): string => any(sides.map(({ column }) => `${column} IS NULL`))
const isWhole = (sides: readonly Side[]): string => all(sides.map(({ column }) => `${column} IS NOT NULL`))

const any = (conditions: readonly string[]): string => `(${conditions.join(' OR ')})`
const all = (conditions: readonly string[]): string => `(${conditions.join(' AND ')})`

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
    side.stored.kind,
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

/** All but those of {@link bindsOther} bind each value once, in order: {@link bindCondition} does the same. */
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
  const end = side.stored.kind.end?.(value)
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

const withinAny: ToSql = (side, values) => any(values.map((value) => within(side, value)))

/** A date-time is a span, because it is shown to the second only (D11); so are times, and dates, since SQLite may store more. */
const spans: Readonly<Record<OperatorName, ToSql>> = {
  ...scalars,
  eq: withinAny,
  in: withinAny,
  ne: (side, values) => all(values.map((value) => `NOT (${within(side, value)})`)),
  lte: (side, values) => all(values.map((value) => untilEnd(side, value))),
  gt: (side, values) => all(values.map((value) => fromEnd(side, value))),
}
