import type { RawRow } from '../connection/statement'
import { type Query, rootAlias } from '../query/query'
import type { ReadColumn } from '../schema/stored-column'
import { cursorSelection } from './keyset'
import { longBytes } from './long-columns'
import { columnSql, mayBeNull, selection } from './row'
import type { SelectedColumns, Store } from './store'

/** The parts of a query that determine which values its statement reads, and whether soft-deleted records are among them. */
export type ReadQuery = Pick<Query, 'select' | 'cursor' | 'ordering' | 'included' | 'readsDeleted'>

/**
 * Maximum size of a value that a statement reads, in bytes; undefined to read all values. A statement with a limit
 * reads longer values as null. After its other columns it returns the size of the row: the total size of all long
 * columns and, if some of them are hidden, the total size of the shown ones too.
 *
 * The limit is not a property of {@link Query}, because copying the query for each request takes as long as all other
 * work for these sizes.
 */
export type ValueLimit = number | undefined

/**
 * Value limit for which all rows of a statement together have at most `maxBytes` bytes. It is a power of two, which
 * keeps the number of different statements small: the limit is part of the SQL text.
 * @param rowCount number of rows that the statement reads
 * @param maxBytes in total, for all rows
 * @returns undefined if the declared lengths of the columns guarantee that the rows are small enough
 */
export function valueLimitFor(
  { dataSource, selected, storeOf }: Store,
  query: ReadQuery,
  rowCount: number,
  maxBytes: number,
): ValueLimit {
  const { all, long, maxRowBytes } = selected[query.select]
  let valueCount = long.size
  let rowBytes = maxRowBytes
  for (const column of cursorColumnsOf(query, all)) {
    const bytes = longBytes(column, dataSource)
    if (bytes === undefined) continue
    valueCount++
    rowBytes += bytes
  }
  for (const { view } of query.included) {
    const { columns } = storeOf(view).selected
    valueCount += columns.long.size
    rowBytes += columns.maxRowBytes
  }
  if (rowBytes * rowCount <= maxBytes || valueCount === 0) return undefined
  const valueLimit = Math.floor(maxBytes / rowCount / valueCount)
  return valueLimit === 0 ? 0 : 1 << (31 - Math.clz32(valueLimit))
}

/**
 * Value limit with which rows of this size are read completely: the size, rounded up to a power of two.
 * @param size in bytes
 */
export function valueLimitOf(size: number): number {
  return 2 ** Math.ceil(Math.log2(size))
}

/**
 * Expressions that the statement of a query selects, each with its position as its name: the columns, the values of
 * cursors and, with a value limit, the sizes of the row.
 */
export function measuredSelection(store: Store, query: Query, valueLimit: ValueLimit): readonly [string, string][] {
  const { dataSource, dialect } = store
  const selected = [
    ...selection(dataSource, store.selected[query.select].all, rootAlias),
    ...cursorSelection(store, query),
    ...includedSelection(store, query),
  ]
  if (valueLimit === undefined) return selected
  const { sizeSql } = dialect
  const readValues = readValuesOf(store, query)
  const sqlOf = ({ column, alias }: ReadValue): string => columnSql(dataSource, column, alias, true)
  const limited = selected.map(([expression, name], index): [string, string] => {
    const value = readValues[index]
    if (value?.isLong !== true) return [expression, name]
    return [`CASE WHEN ${sizeSql(value.column, sqlOf(value))} <= ${valueLimit} THEN ${expression} END`, name]
  })
  const sizes = measuredGroupsOf(readValues).map((values, index): [string, string] => {
    const terms = values.map((value) => rowSizeSql(store, value.column, sqlOf(value), value.isNullable))
    return [terms.join(' + ') || '0', String(readValues.length + index)]
  })
  return [...limited, ...sizes]
}

/** Columns of included records. */
function includedSelection(store: Store, query: Query): readonly [string, string][] {
  const { dataSource } = store
  const start = includedPosition(store, query)
  return query.included
    .flatMap(({ alias, view }) => selection(dataSource, view.columns, alias))
    .map(([expression], index) => [expression, String(start + index)])
}

/** Position of the first column of the included records in a row. */
export function includedPosition({ selected }: Store, { select, cursor, ordering }: ReadQuery): number {
  return selected[select].all.length + (cursor === undefined ? 0 : ordering.length)
}

/** Number of values that the statement of a query selects. */
export function widthOf(store: Store, query: ReadQuery, valueLimit: ValueLimit): number {
  const sizes = valueLimit === undefined ? 0 : measuredGroupsOf(readValuesOf(store, query)).length
  return sizePositionOf(store, query) + sizes
}

/** Number of values before the sizes of the row: its columns, the values of cursors and the columns of included records. */
function sizePositionOf(store: Store, query: ReadQuery): number {
  let position = includedPosition(store, query)
  for (const { view } of query.included) position += view.columns.length
  return position
}

/** Groups of values whose total sizes are measured: all long values and, if some of them are hidden, the shown ones. */
function measuredGroupsOf(readValues: readonly ReadValue[]): readonly (readonly ReadValue[])[] {
  const longValues = readValues.filter(({ isLong }) => isLong)
  const shownValues = longValues.filter(({ isShown }) => isShown)
  return shownValues.length === longValues.length ? [longValues] : [longValues, shownValues]
}

/** Value that a statement selects. */
interface ReadValue {
  readonly column: ReadColumn
  /** Alias of its table. */
  readonly alias: string
  readonly isNullable: boolean
  readonly isLong: boolean
  /** Whether records contain it. Keys of hidden owners, and columns read only for listeners, are not shown. */
  readonly isShown: boolean
}

/**
 * Values that a statement selects: its columns, in keyset paging the sort columns again, for cursors, and the columns of
 * included records.
 */
function readValuesOf(
  { view, dataSource, selected, storeOf }: Store,
  { select, cursor, ordering, included }: ReadQuery,
): readonly ReadValue[] {
  const { all, long } = selected[select]
  const shownColumns = new Set<ReadColumn>(view.outputFields.flatMap((field) => field.columns))
  const columnValues = all.map((column) => ({
    column,
    alias: rootAlias,
    isNullable: mayBeNull(column),
    isLong: long.has(column),
    isShown: shownColumns.has(column),
  }))
  const cursorValues = (cursor === undefined ? [] : ordering).map(({ column, alias }) => ({
    column,
    alias,
    isNullable: alias !== rootAlias || mayBeNull(column),
    isLong: longBytes(column, dataSource) !== undefined,
    // Only shown fields can be sorted by.
    isShown: true,
  }))
  const includedValues = included.flatMap(({ alias, view: related }) => {
    const shown = new Set<ReadColumn>(related.outputFields.flatMap((field) => field.columns))
    const { columns } = storeOf(related).selected
    return related.columns.map((column) => ({
      column,
      alias,
      isNullable: true,
      isLong: columns.long.has(column),
      isShown: shown.has(column),
    }))
  })
  return [...columnValues, ...cursorValues, ...includedValues]
}

/** Columns that keyset paging reads only for cursors: those of joined tables, and fields that are not selected. */
function cursorColumnsOf({ cursor, ordering }: ReadQuery, selected: readonly ReadColumn[]): readonly ReadColumn[] {
  if (cursor === undefined) return []
  return ordering.flatMap(({ alias, column }) => (alias === rootAlias && selected.includes(column) ? [] : [column]))
}

/**
 * Predicate that the long columns of a record have at most `maxBytes` bytes in total.
 * @returns undefined if the declared lengths of the columns guarantee it
 */
export function sizeCondition(
  store: Store,
  { long, maxRowBytes }: SelectedColumns,
  maxBytes: number,
): string | undefined {
  if (maxRowBytes <= maxBytes) return undefined
  const sizes = [...long].map((column) =>
    rowSizeSql(store, column, columnSql(store.dataSource, column), mayBeNull(column)),
  )
  return `${sizes.join(' + ')} <= ${maxBytes}`
}

/** Expression for the size of a value in bytes; 0 for null. */
function rowSizeSql({ dialect }: Store, column: ReadColumn, sql: string, isNullable: boolean): string {
  const size = dialect.sizeSql(column, sql)
  return isNullable ? `COALESCE(${size}, 0)` : size
}

/**
 * Whether each row has at most `maxBytes` bytes in its long columns, so that no value was left out by a value limit of
 * `maxBytes` or more. It compares only one number of each row: most lists need no other check.
 */
export function areShort(store: Store, query: ReadQuery, rows: readonly RawRow[], maxBytes: number): boolean {
  const sizePosition = sizePositionOf(store, query)
  for (const raw of rows) if (Number(raw[sizePosition]) > maxBytes) return false
  return true
}

/** Reads the sizes of rows that were selected with a value limit. */
export interface RowMeasure {
  /** Size of the long columns in the database, in bytes. */
  readonly sizeOf: (raw: RawRow) => number
  /** Size of the shown long columns, in bytes. Responses may depend on it, because hidden columns do not affect it. */
  readonly shownSizeOf: (raw: RawRow) => number
  /** Whether every value was read. If a row is larger than the value limit, a null can be a value that was left out. */
  readonly isWhole: (raw: RawRow) => boolean
}

/** Builds the functions that read the sizes of rows. @param valueLimit limit of the statement that read the rows */
export function measureOf(store: Store, query: ReadQuery, valueLimit: number): RowMeasure {
  const readValues = readValuesOf(store, query)
  const longPositions = readValues.flatMap(({ isLong }, position) => (isLong ? [position] : []))
  const sizeOf = (raw: RawRow): number => Number(raw[readValues.length])
  const shownSizePosition = readValues.length + measuredGroupsOf(readValues).length - 1
  return {
    sizeOf,
    shownSizeOf: (raw) => Number(raw[shownSizePosition]),
    isWhole: (raw) => sizeOf(raw) <= valueLimit || longPositions.every((position) => raw[position] !== null),
  }
}
