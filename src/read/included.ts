import type { DbSession } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import type { IncludedList } from '../query/query'
import type { IncludedQuery } from './included-sql'
import { countStatement, listsStatement, type ParentKeys, singleListStatement } from './included-statements'
import { type ValueLimit, widthOf } from './measure'
import type { Store } from './store'

/** Text that identifies a key among the rows of one data source. @param position of the first column of the key */
export function keyText(raw: RawRow, position: number, length: number): string {
  if (length === 1) return textOf(raw[position])
  const texts: string[] = []
  for (let index = position; index < position + length; index++) {
    const text = textOf(raw[index])
    texts.push(`${text.length} ${text}`)
  }
  return texts.join()
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString('hex')
  return String(value instanceof Date ? value.getTime() : value)
}

/** Related record of a parent. */
export interface IncludedRow {
  /** {@link keyText} of the parent. */
  readonly parent: string
  readonly raw: RawRow
}

/**
 * Reads the related records of several parents with one statement: of each parent as many as `list.query.limit`.
 * @param store of the related records
 * @param parent store of the parents
 * @param maxRows of all parents
 */
export async function readIncluded(
  session: DbSession,
  store: Store,
  list: IncludedList,
  parent: Store,
  keys: ParentKeys,
  maxRows: number,
  valueLimit: ValueLimit,
): Promise<readonly IncludedRow[]> {
  const included = includedQueryOf(list, parent, widthOf(store, list.query, valueLimit))
  const { values, statement } =
    keys.size === 1
      ? singleListStatement(session, store, included, keys, valueLimit)
      : listsStatement(session, store, included, keys, maxRows, valueLimit)
  const { records } = await execute(session, statement, values)
  const { keyPosition, parentKey } = included
  return records.filter(hasKey(store)).map((raw) => ({ parent: keyText(raw, keyPosition, parentKey.length), raw }))
}

/** Returns a function that finds out whether a row has a record: its key is not null. */
function hasKey({ view }: Store): (raw: RawRow) => boolean {
  const [position = 0] = view.key.columns.map((column) => view.columns.indexOf(column))
  return (raw) => raw[position] !== null
}

/** Counts the related records of several parents with one statement. @returns the numbers by {@link keyText} */
export async function countIncluded(
  session: DbSession,
  store: Store,
  list: IncludedList,
  parent: Store,
  keys: ParentKeys,
): Promise<ReadonlyMap<string, number>> {
  const included = includedQueryOf(list, parent, 0)
  const { statement, values } = countStatement(session, store, included, keys)
  const { records } = await execute(session, statement, values)
  const { length } = included.parentKey
  return new Map(records.map((raw) => [keyText(raw, 0, length), Number(raw[length])]))
}

function includedQueryOf(list: IncludedList, parent: Store, keyPosition: number): IncludedQuery {
  return { list, parent, query: list.query, parentKey: (list.foreignKey ?? parent.view.key).columns, keyPosition }
}

/** Positions of the columns of the key in the rows of a view. */
export function keyPositionsOf({ view }: Store): readonly number[] {
  return view.key.columns.map((column) => view.columns.indexOf(column))
}

/** Returns a function for the text that identifies a row among the parents of included records: {@link keyText}. */
export function parentText(store: Store): (raw: RawRow) => string {
  const positions = keyPositionsOf(store)
  return (raw) =>
    keyText(
      positions.map((position) => raw[position]),
      0,
      positions.length,
    )
}
