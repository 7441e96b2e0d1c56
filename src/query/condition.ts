import type { Condition } from '../plan/plan'
import { dateKind, dateTimeKind, resolution } from '../value/date-time'
import type { Kind, OperatorName } from '../value/kind'
import { dayAfter, globPattern } from './sqlite'

/** Adds a value to the statement's parameters. @returns its placeholder */
export type Bind = (value: unknown) => string

type ToSql = (column: string, values: readonly unknown[], bind: Bind) => string

/** The condition as SQL over an escaped column. Every value is bound, none is written into the text. */
export function conditionSql({ on, operator, values }: Condition, column: string, bind: Bind): string {
  const table = spans.has(on.field.kind) ? instants : scalars
  return table[operator](column, values, bind)
}

const spans: ReadonlySet<Kind> = new Set([dateTimeKind, dateKind])

const any = (conditions: readonly string[]): string => `(${conditions.join(' OR ')})`
const all = (conditions: readonly string[]): string => `(${conditions.join(' AND ')})`

const isAny: ToSql = (column, values, bind) =>
  any(
    values.map((value) => {
      if (value === 'null') return `${column} IS NULL`
      return value === 'not_null' ? `${column} IS NOT NULL` : `${column} = ${bind(value)}`
    }),
  )

const equalsAny: ToSql = (column, values, bind) => `${column} IN (${values.map(bind).join(', ')})`

const compareAll =
  (operator: string): ToSql =>
  (column, values, bind) =>
    all(values.map((value) => `${column} ${operator} ${bind(value)}`))

const matchAny =
  (ignoreCase: boolean): ToSql =>
  (column, values, bind) =>
    any(values.map((value) => `${column} GLOB ${bind(globPattern(String(value), ignoreCase))}`))

const scalars: Readonly<Record<OperatorName, ToSql>> = {
  eq: equalsAny,
  in: equalsAny,
  ne: compareAll('<>'),
  lt: compareAll('<'),
  lte: compareAll('<='),
  gt: compareAll('>'),
  gte: compareAll('>='),
  is: isAny,
  like: matchAny(false),
  ilike: matchAny(true),
}

/** What begins where the value ends: the second that was given is over (D11), or the day. */
function end(value: unknown): unknown {
  if (value instanceof Date) return new Date(value.getTime() + resolution(value))
  return dayAfter(String(value))
}

const withinAny: ToSql = (column, values, bind) =>
  any(values.map((value) => `(${column} >= ${bind(value)} AND ${column} < ${bind(end(value))})`))

const compareEnds =
  (operator: string): ToSql =>
  (column, values, bind) =>
    compareAll(operator)(column, values.map(end), bind)

/** A date-time is a span, because it is shown to the second only (D11); a date too, since SQLite may store its time. */
const instants: Readonly<Record<OperatorName, ToSql>> = {
  ...scalars,
  eq: withinAny,
  in: withinAny,
  ne: (column, values, bind) =>
    all(values.map((value) => `(${column} < ${bind(value)} OR ${column} >= ${bind(end(value))})`)),
  lte: compareEnds('<'),
  gt: compareEnds('>='),
}
