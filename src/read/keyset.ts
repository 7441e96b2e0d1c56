import type { Bind } from '../connection/compile'
import type { RawRow } from '../connection/statement'
import type { CursorSql } from '../dialect/dialect'
import { type Query, rootAlias, type SortColumn } from '../query/query'
import { type CursorValue, isCursorValue, maxCursorTextLength } from '../request/cursor'
import { columnSql, mayBeNull } from './row'
import type { Store } from './store'

/**
 * Columns that keyset paging reads in addition to those of the resource: the sort columns, for the cursors of the
 * page's links.
 */
export function cursorSelection(store: Store, query: Query): readonly [string, string][] {
  if (query.cursor === undefined) return []
  const width = store.selected[query.select].all.length
  return query.ordering.map((sortColumn, index) => [cursorSqlOf(store, sortColumn).read, String(width + index)])
}

/**
 * Values of a row's sort columns, for a cursor.
 * @param maxLength maximum total length of the texts, in characters
 * @returns undefined if a cursor cannot hold one of them, or if they are too long
 */
export function cursorValuesOf(
  store: Store,
  query: Query,
  raw: RawRow,
  maxLength: number,
): readonly CursorValue[] | undefined {
  const width = store.selected[query.select].all.length
  const cursorValues = query.ordering.map((_, index) => raw[width + index] ?? null)
  const length = cursorValues.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)
  // Before any work that takes time for each character: a text can have millions of them.
  if (length > Math.min(maxLength, maxCursorTextLength)) return undefined
  return cursorValues.every(isCursorValue) && areCursorValues(store, query, cursorValues) ? cursorValues : undefined
}

/** Whether each sort column can be compared with its value in a cursor. */
export function areCursorValues(store: Store, { ordering }: Query, cursorValues: readonly CursorValue[]): boolean {
  return ordering.every((sortColumn, index) => {
    const value = cursorValues[index] ?? null
    return value === null ? mayHaveNull(sortColumn) : cursorSqlOf(store, sortColumn).accepts(value)
  })
}

/** Whether a list has the same order with page numbers and with cursors. It differs for a long VARCHAR on MySQL. */
export function sortsAsKeyset(store: Store, { ordering }: Query): boolean {
  return ordering.every((sortColumn) => sortedSql(store, sortColumn) === pageSortSql(store, sortColumn))
}

/** SQL by which a list without cursors is sorted. */
export function pageSortSql({ dataSource, dialect }: Store, { column, alias }: SortColumn): string {
  return dialect.sortSql(column, columnSql(dataSource, column, alias))
}

/** SQL by which a list with cursors is sorted. It gives the same order as the comparison with a cursor. */
export function sortedSql(store: Store, sortColumn: SortColumn): string {
  return cursorSqlOf(store, sortColumn).sorted
}

/** Predicate for the rows after the cursor. @returns undefined if the cursor is at the start of the list */
export function keysetSql(store: Store, { cursor, ordering }: Query, bind: Bind): string | undefined {
  const { values } = cursor ?? {}
  if (values === undefined) return undefined
  const steps = ordering.map((sortColumn, index) => stepSql(store, sortColumn, values[index] ?? null, bind))
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

function stepSql(store: Store, sortColumn: SortColumn, value: CursorValue, bind: Bind): KeysetStep {
  const { sorted, compared, operand, seek } = cursorSqlOf(store, sortColumn)
  const { descending, nulls } = sortColumn
  if (value === null) {
    return nulls === 'last'
      ? { after: matchesNothing, atOrAfter: `${sorted} IS NULL` }
      : { after: `${sorted} IS NOT NULL`, atOrAfter: undefined }
  }
  const placeholder = operand(bind(value))
  const operator = descending ? '<' : '>'
  const withNulls = (condition: string): string =>
    nulls === 'last' && mayHaveNull(sortColumn) ? `(${condition} OR ${sorted} IS NULL)` : condition
  const atOrAfter = `${compared} ${operator}= ${placeholder}`
  return {
    after: withNulls(`${compared} ${operator} ${placeholder}`),
    atOrAfter: withNulls(seek === undefined ? atOrAfter : `(${seek(operator, placeholder)} AND ${atOrAfter})`),
  }
}

/** Whether a sort column may be null. Columns of related records are null if there is no related record. */
export function mayHaveNull({ alias, column }: SortColumn): boolean {
  return alias !== rootAlias || mayBeNull(column)
}

function cursorSqlOf({ dataSource, dialect }: Store, { column, alias }: SortColumn): CursorSql {
  return dialect.cursorSql(column, columnSql(dataSource, column, alias))
}
