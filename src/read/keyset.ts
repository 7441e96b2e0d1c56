import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import type { RawRow } from '../connection/statement'
import type { CursorSql } from '../dialect/dialect'
import { dialectOf } from '../dialect/dialect-of'
import { type Order, type Query, rootAlias } from '../query/query'
import { type CursorValue, isCursorValue } from '../request/cursor'
import { columnSql, comparedSql, mayBeNull } from './row'

/** What a list by keyset reads of each row behind its columns: where it stands in the order. */
export function cursorSelection(dataSource: DataSource, plan: Query): readonly [string, string][] {
  if (plan.cursor === undefined) return []
  const width = plan.resource[plan.select].length
  return plan.ordering.map((order, index) => [spell(dataSource, order).read, String(width + index)])
}

/** Where a row stands in the order of its plan; undefined where no token can say it. */
export function cursorValuesOf(dataSource: DataSource, plan: Query, raw: RawRow): readonly CursorValue[] | undefined {
  const width = plan.resource[plan.select].length
  const place = plan.ordering.map((_, index) => raw[width + index] ?? null)
  return place.every(isCursorValue) && areCursorValues(dataSource, plan, place) ? place : undefined
}

/** Whether there is a value for each sort column that it can be compared with. */
export function areCursorValues(dataSource: DataSource, { ordering }: Query, place: readonly CursorValue[]): boolean {
  return ordering.every((order, index) => {
    const value = place[index] ?? null
    return value === null ? mayHaveNull(order) : spell(dataSource, order).accepts(value)
  })
}

/** Whether a list without tokens is sorted as one with them: MySQL's long texts are not. */
export function sortsAsKeyset(dataSource: DataSource, { ordering }: Query): boolean {
  return ordering.every((order) => sortedSql(dataSource, order) === comparedSql(dataSource, order.column, order.alias))
}

/** What a list by keyset is sorted by: what places are compared by. */
export function sortedSql(dataSource: DataSource, order: Order): string {
  return spell(dataSource, order).sorted
}

/** Predicate for the rows after the place where the plan begins, in its order; undefined for all. */
export function keysetSql(dataSource: DataSource, { cursor, ordering }: Query, bind: Bind): string | undefined {
  const { values } = cursor ?? {}
  if (values === undefined) return undefined
  const steps = ordering.map((order, index) => stepSql(dataSource, order, values[index] ?? null, bind))
  return steps.reduceRight<string | undefined>((inner, { behind, notBefore }) => {
    if (inner === undefined) return behind
    const either = behind === nowhere ? inner : `(${behind} OR ${inner})`
    // An index finds where to begin by the first column, which a condition of all of them would keep from it.
    return notBefore === undefined ? either : `(${notBefore} AND ${either})`
  }, undefined)
}

/** For one column: what is behind a value, and what is there or behind; undefined for everything. */
interface Step {
  readonly behind: string
  readonly notBefore: string | undefined
}

const nowhere = '1 = 0'

function stepSql(dataSource: DataSource, order: Order, value: CursorValue, bind: Bind): Step {
  const { compared, bound } = spell(dataSource, order)
  const { descending, nulls } = order
  if (value === null) {
    return nulls === 'last'
      ? { behind: nowhere, notBefore: `${compared} IS NULL` }
      : { behind: `${compared} IS NOT NULL`, notBefore: undefined }
  }
  const limit = bound(bind(value))
  const operator = descending ? '<' : '>'
  const orNull = (condition: string): string =>
    nulls === 'last' && mayHaveNull(order) ? `(${condition} OR ${compared} IS NULL)` : condition
  return { behind: orNull(`${compared} ${operator} ${limit}`), notBefore: orNull(`${compared} ${operator}= ${limit}`) }
}

/** Whether a row may have null in a sort column. There may be no related record. */
export function mayHaveNull({ alias, column }: Order): boolean {
  return alias !== rootAlias || mayBeNull(column)
}

function spell(dataSource: DataSource, { column, alias }: Order): CursorSql {
  return dialectOf(dataSource).cursorSql(column, columnSql(dataSource, column, alias))
}
