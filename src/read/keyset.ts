import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import type { RawRow } from '../connection/statement'
import type { CursorSql } from '../dialect/dialect'
import { dialectOf } from '../dialect/dialect-of'
import { type Order, type Query, rootAlias } from '../query/query'
import { type CursorValue, isCursorValue } from '../request/cursor'
import { columnSql, comparedSql, mayBeNull } from './row'

/**
 * Columns that keyset paging reads in addition to those of the resource: the sort columns, for the cursors of the
 * page's links.
 */
export function cursorSelection(dataSource: DataSource, query: Query): readonly [string, string][] {
  if (query.cursor === undefined) return []
  const width = query.resource[query.select].length
  return query.ordering.map((order, index) => [cursorSqlOf(dataSource, order).read, String(width + index)])
}

/** Values of a row's sort columns, for a cursor. @returns undefined if a cursor cannot hold one of them */
export function cursorValuesOf(dataSource: DataSource, query: Query, raw: RawRow): readonly CursorValue[] | undefined {
  const width = query.resource[query.select].length
  const cursorValues = query.ordering.map((_, index) => raw[width + index] ?? null)
  return cursorValues.every(isCursorValue) && areCursorValues(dataSource, query, cursorValues)
    ? cursorValues
    : undefined
}

/** Whether each sort column can be compared with its value in a cursor. */
export function areCursorValues(
  dataSource: DataSource,
  { ordering }: Query,
  cursorValues: readonly CursorValue[],
): boolean {
  return ordering.every((order, index) => {
    const value = cursorValues[index] ?? null
    return value === null ? mayHaveNull(order) : cursorSqlOf(dataSource, order).accepts(value)
  })
}

/** Whether a list has the same order with page numbers and with cursors. It differs for long texts on MySQL. */
export function sortsAsKeyset(dataSource: DataSource, { ordering }: Query): boolean {
  return ordering.every((order) => sortedSql(dataSource, order) === comparedSql(dataSource, order.column, order.alias))
}

/** SQL by which a list with cursors is sorted. It gives the same order as the comparison with a cursor. */
export function sortedSql(dataSource: DataSource, order: Order): string {
  return cursorSqlOf(dataSource, order).sorted
}

/** Predicate for the rows after the cursor. @returns undefined if the cursor is at the start of the list */
export function keysetSql(dataSource: DataSource, { cursor, ordering }: Query, bind: Bind): string | undefined {
  const { values } = cursor ?? {}
  if (values === undefined) return undefined
  const steps = ordering.map((order, index) => stepSql(dataSource, order, values[index] ?? null, bind))
  return steps.reduceRight<string | undefined>((tieBreaker, { after, atOrAfter }) => {
    if (tieBreaker === undefined) return after
    const afterOrTied = after === matchesNothing ? tieBreaker : `(${after} OR ${tieBreaker})`
    // Redundant, but lets the database seek in an index of the first sort column, which it does not do for the OR
    // alone.
    return atOrAfter === undefined ? afterOrTied : `(${atOrAfter} AND ${afterOrTied})`
  }, undefined)
}

/** Predicates for one sort column. */
interface KeysetStep {
  /** The column sorts after the cursor's value. */
  readonly after: string
  /** The column sorts after the cursor's value or is equal to it; undefined if this holds for every row. */
  readonly atOrAfter: string | undefined
}

const matchesNothing = '1 = 0'

function stepSql(dataSource: DataSource, order: Order, value: CursorValue, bind: Bind): KeysetStep {
  const { sorted, compared, bound, seek } = cursorSqlOf(dataSource, order)
  const { descending, nulls } = order
  if (value === null) {
    return nulls === 'last'
      ? { after: matchesNothing, atOrAfter: `${sorted} IS NULL` }
      : { after: `${sorted} IS NOT NULL`, atOrAfter: undefined }
  }
  const placeholder = bound(bind(value))
  const operator = descending ? '<' : '>'
  const withNulls = (condition: string): string =>
    nulls === 'last' && mayHaveNull(order) ? `(${condition} OR ${sorted} IS NULL)` : condition
  const atOrAfter = `${compared} ${operator}= ${placeholder}`
  return {
    after: withNulls(`${compared} ${operator} ${placeholder}`),
    atOrAfter: withNulls(seek === undefined ? atOrAfter : `(${seek(operator, placeholder)} AND ${atOrAfter})`),
  }
}

/** Whether a sort column may be null. Columns of related records are null if there is no related record. */
export function mayHaveNull({ alias, column }: Order): boolean {
  return alias !== rootAlias || mayBeNull(column)
}

function cursorSqlOf(dataSource: DataSource, { column, alias }: Order): CursorSql {
  return dialectOf(dataSource).cursorSql(column, columnSql(dataSource, column, alias))
}
