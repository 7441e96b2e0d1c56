import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import { type Query, rootAlias } from '../query/query'
import type { ReadColumn } from '../schema/stored-column'
import { cursorSelection } from './keyset'
import { longBytes, longColumnsOf } from './long-columns'
import { columnSql, mayBeNull, selection } from './row'

type Rows = Pick<Query, 'resource' | 'select' | 'cursor' | 'ordering'>

/**
 * Bytes that a value may have to be read. A longer one is read as null, and how many bytes all long columns of a row have is read
 * behind its columns; where some of them are hidden, how many the others have too. Undefined where everything is read. It is no property of a plan: a copy of one for each request takes as long
 * as the rest of its measuring.
 */
export type ValueLimit = number | undefined

/**
 * The room of each value of a list, so that all rows together stay within a budget: a power of two, since it stands in the text of the
 * statement, of which there are to be few.
 * @param rows how many rows are read
 * @returns undefined where the declared lengths of the columns keep them within it
 */
export function valueLimitFor(dataSource: DataSource, plan: Rows, rows: number, budget: number): ValueLimit {
  const { columns, rowBytes } = longColumnsOf(plan.resource[plan.select], dataSource)
  const joined = joinedColumnsOf(plan).flatMap((column) => longBytes(column, dataSource) ?? [])
  const count = columns.size + joined.length
  if (joined.reduce((sum, bytes) => sum + bytes, rowBytes) * rows <= budget || count === 0) return undefined
  const room = Math.floor(budget / rows / count)
  return room === 0 ? 0 : 1 << (31 - Math.clz32(room))
}

/** Bytes that one value may have, so that rows of this size are read as a whole. */
export function valueLimitOf(size: number): number {
  return 2 ** Math.ceil(Math.log2(size))
}

/** What a statement reads, each named by its position: columns, places of keyset paging and, measured, the size of a row. */
export function measuredSelection(dataSource: DataSource, plan: Query, room: ValueLimit): readonly [string, string][] {
  const selected = [
    ...selection(dataSource, plan.resource[plan.select], rootAlias),
    ...cursorSelection(dataSource, plan),
  ]
  if (room === undefined) return selected
  const { bytes } = dialectOf(dataSource)
  const read = readOf(dataSource, plan)
  const sizes = sizesOf(read).map((values) =>
    values.map(({ column, sql, isNullable }) => bytesSql(dataSource, column, sql, isNullable)),
  )
  const guarded = selected.map(([expression, name], index): [string, string] => {
    const value = read[index]
    if (value?.isLong !== true) return [expression, name]
    return [`CASE WHEN ${bytes(value.column, value.sql)} <= ${room} THEN ${expression} END`, name]
  })
  const measured = sizes.map((terms, index): [string, string] => [
    terms.join(' + ') || '0',
    String(read.length + index),
  ])
  return [...guarded, ...measured]
}

/** The values whose sizes are added up: all long ones, and those that are shown, if these are others. */
function sizesOf(read: readonly ReadValue[]): readonly (readonly ReadValue[])[] {
  const long = read.filter(({ isLong }) => isLong)
  const shown = long.filter(({ isShown }) => isShown)
  return shown.length === long.length ? [long] : [long, shown]
}

interface ReadValue {
  readonly sql: string
  readonly column: ReadColumn
  readonly isNullable: boolean
  readonly isLong: boolean
  /** Whether records show it: not the key of a hidden owner, nor what is read for listeners alone. */
  readonly isShown: boolean
}

/** The values that a statement reads, that of a sort column once more for its place. */
function readOf(dataSource: DataSource, { resource, select, cursor, ordering }: Rows): readonly ReadValue[] {
  const { columns: long } = longColumnsOf(resource[select], dataSource)
  const shown = new Set<ReadColumn>(resource.outputFields.flatMap((field) => field.columns))
  const read = (column: ReadColumn, alias: string): ReadValue => ({
    sql: columnSql(dataSource, column, alias),
    column,
    isNullable: alias !== rootAlias || mayBeNull(column),
    isLong: alias === rootAlias ? long.has(column) : longBytes(column, dataSource) !== undefined,
    isShown: alias !== rootAlias || shown.has(column),
  })
  const own = resource[select].map((column) => read(column, rootAlias))
  return cursor === undefined ? own : [...own, ...ordering.map(({ column, alias }) => read(column, alias))]
}

/** Sort columns of other tables, which a page by keyset reads for its places. */
function joinedColumnsOf({ cursor, ordering }: Rows): readonly ReadColumn[] {
  if (cursor === undefined) return []
  return ordering.flatMap(({ alias, column }) => (alias === rootAlias ? [] : [column]))
}

/** Bytes that a row holds in memory, about, from the driver's texts and buffers. Other values are short. */
export function bytesOf(raw: RawRow): number {
  let bytes = 0
  for (const value of Object.values(raw)) {
    if (typeof value === 'string' || Buffer.isBuffer(value)) bytes += value.length
  }
  return bytes
}

/** Condition that the columns of a record have at most so many bytes; undefined where their declared lengths say so. */
export function sizeCondition(
  dataSource: DataSource,
  columns: readonly ReadColumn[],
  maxBytes: number,
): string | undefined {
  const { columns: long, rowBytes } = longColumnsOf(columns, dataSource)
  if (rowBytes <= maxBytes) return undefined
  const sizes = [...long].map((column) =>
    bytesSql(dataSource, column, columnSql(dataSource, column), mayBeNull(column)),
  )
  return `${sizes.join(' + ')} <= ${maxBytes}`
}

function bytesSql(dataSource: DataSource, column: ReadColumn, sql: string, isNullable: boolean): string {
  const bytes = dialectOf(dataSource).bytes(column, sql)
  return isNullable ? `COALESCE(${bytes}, 0)` : bytes
}

/** Whether no value of these rows has been left out for its length, by their sizes alone: that of most lists is looked at once. */
export function areShort(plan: Rows, rows: readonly RawRow[], room: number): boolean {
  const position = plan.resource[plan.select].length + (plan.cursor === undefined ? 0 : plan.ordering.length)
  for (const raw of rows) if (Number(raw[position]) > room) return false
  return true
}

/** What is known of a measured row. */
export interface RowMeasure {
  /** Bytes that its long columns have in the database. */
  readonly sizeOf: (raw: RawRow) => number
  /** The same of those that records show: what answers may depend on. */
  readonly shownSizeOf: (raw: RawRow) => number
  /** Whether every value has been read. One that is null may have been too long, if the row is. */
  readonly isWhole: (raw: RawRow) => boolean
}

/** Reads what a statement has measured by the room of its plan. */
export function measureOf(dataSource: DataSource, plan: Rows, room: number): RowMeasure {
  const read = readOf(dataSource, plan)
  const positions = read.flatMap(({ isLong }, position) => (isLong ? [position] : []))
  const sizeOf = (raw: RawRow): number => Number(raw[read.length])
  const shownPosition = read.length + sizesOf(read).length - 1
  return {
    sizeOf,
    shownSizeOf: (raw) => Number(raw[shownPosition]),
    isWhole: (raw) => sizeOf(raw) <= room || positions.every((position) => raw[position] !== null),
  }
}
