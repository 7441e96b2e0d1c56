import type { DbSession } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import type { IncludedList } from '../query/query'
import type { IncludedQuery } from './included-sql'
import {
  allListsStatement,
  type BoundStatement,
  countStatement,
  listsStatement,
  type ParentKeys,
  singleListStatement,
} from './included-statements'
import { type ValueLimit, widthOf } from './measure'
import type { Store } from './store'

/** Text that identifies a key among the rows of one data source. @param position of the first column of the key */
function keyText(raw: RawRow, position: number, length: number): string {
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

/** Lists of several parents: the related records of each, by the same relation. */
export interface IncludedLists {
  /** Store of the related records. */
  readonly store: Store
  readonly list: IncludedList
  /** Store of the parents. */
  readonly parent: Store
  /** The parents whose lists are read. */
  readonly keys: ParentKeys
}

/** Related record of a parent. */
export interface IncludedRow {
  /** {@link keyText} of the parent. */
  readonly parent: string
  readonly raw: RawRow
}

/**
 * Reads lists: of each parent as many related records as `list.query.limit`. It takes one statement, or two if a many-to-many
 * relation has more related records than `Dialect.maxUnlimitedManyToMany` expects.
 * @param maxRows maximum number of related records of all parents
 */
export async function readIncluded(
  session: DbSession,
  lists: IncludedLists,
  maxRows: number,
  valueLimit: ValueLimit,
): Promise<readonly IncludedRow[]> {
  const { store, list, keys } = lists
  const included = includedQueryOf(lists, widthOf(store, list.query, valueLimit))
  const { keyPosition, parentKey } = included
  const read = async ({ statement, values }: BoundStatement): Promise<readonly IncludedRow[]> => {
    const { records } = await execute(session, statement, values)
    return records.filter(hasKey(store)).map((raw) => ({ parent: keyText(raw, keyPosition, parentKey.length), raw }))
  }
  const selection = { store, included, keys, valueLimit }
  if (keys.size === 1) return read(singleListStatement(session, selection))
  const maxPerParent = list.relation.isManyToMany ? store.dialect.maxUnlimitedManyToMany : undefined
  if (maxPerParent !== undefined) {
    const maxTogether = Math.min(keys.size * Math.min(maxPerParent, list.query.limit), maxRows)
    const all = await read(allListsStatement(session, selection, maxTogether + 1))
    if (all.length <= maxTogether) return firstOfEach(all, list.query.limit)
  }
  return read(listsStatement(session, selection, maxRows))
}

/** The first rows of each parent. */
function firstOfEach(rows: readonly IncludedRow[], count: number): readonly IncludedRow[] {
  const counts = new Map<string, number>()
  return rows.filter(({ parent }) => {
    const position = (counts.get(parent) ?? 0) + 1
    counts.set(parent, position)
    return position <= count
  })
}

/** Returns a function that tells whether a row contains a record: after an outer join, its key may be null. */
function hasKey(store: Store): (raw: RawRow) => boolean {
  const [position = 0] = keyPositionsOf(store)
  return (raw) => raw[position] !== null
}

/** Counts the related records in lists with one statement. @returns the numbers by {@link keyText} of the parents */
export async function countIncluded(session: DbSession, lists: IncludedLists): Promise<ReadonlyMap<string, number>> {
  const { store, keys } = lists
  const included = includedQueryOf(lists, 0)
  const { statement, values } = countStatement(session, { store, included, keys })
  const { records } = await execute(session, statement, values)
  const { length } = included.parentKey
  return new Map(records.map((raw) => [keyText(raw, 0, length), Number(raw[length])]))
}

function includedQueryOf({ list, parent }: IncludedLists, keyPosition: number): IncludedQuery {
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
