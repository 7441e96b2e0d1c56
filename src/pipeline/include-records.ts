import type { RawRow } from '../connection/statement'
import type { IncludedList, Inclusion } from '../query/query'
import { afterLoad } from '../read/after-load'
import { setPath } from '../read/entity'
import { type IncludedRow, keyText } from '../read/included'
import type { ParentKeys } from '../read/included-statements'
import { includedPosition, type ReadQuery, shownBytesOf } from '../read/measure'
import type { JsonRecord } from '../read/record'
import type { Store } from '../read/store'
import { nextPathOf } from './included-links'
import { type IncludeReading, readLists, tooLargeIncluded, tooManyIncluded } from './included-reading'
import type { PageReading } from './page-reading'
import { mapWithPauses, toText } from './render-records'

/** JSON of a record with the records that it includes. */
interface Rendered {
  readonly record: JsonRecord
  /** Number of records in the included lists. */
  readonly includedCount: number
  /** Approximate size of the shown columns of its row, with the related records that the row has, in bytes. */
  readonly bytes: number
  /** The same for the records in the included lists. */
  readonly listBytes: number
}

/** Rows of the records of one view, among those that one statement has read. */
interface Part {
  readonly store: Store
  readonly inclusion: Inclusion
  /** The rows with the columns of the view only. */
  readonly rows: readonly RawRow[]
  /** The whole rows. */
  readonly wholeRows: readonly RawRow[]
  /** Positions of the columns of included records in whole rows, by alias. */
  readonly positions: ReadonlyMap<string, number>
}

/**
 * Renders rows with the records that the request includes, and reads the included lists, each with one statement.
 * @param query that has read the rows
 * @returns the members of a JSON array, separated by commas
 * @throws {ApiError} `bad-query` if the response would have too many included records, or be too large
 */
export async function renderIncluding(
  reading: PageReading,
  query: ReadQuery,
  inclusion: Inclusion,
  rows: readonly RawRow[],
): Promise<string> {
  const { limits, store } = reading
  const left = { rows: limits.included, bytes: limits.pageBytes }
  const rendered = await renderStatement({ ...reading, left }, store, query, inclusion, rows)
  // A record that several others include is in the response several times.
  const count = rendered.reduce((sum, one) => sum + one.includedCount, 0)
  if (count > limits.included) throw tooManyIncluded(limits.included)
  // The size of the rows themselves has been limited when they were read.
  const listBytes = rendered.reduce((sum, one) => sum + one.listBytes, 0)
  if (listBytes > limits.pageBytes) throw tooLargeIncluded(limits.pageBytes)
  reading.responseMemory().reserve(rendered.reduce((sum, one) => sum + one.bytes, listBytes))
  return (await mapWithPauses(rendered, ({ record }) => toText([record]))).join()
}

/** Renders the rows of a statement. @param store of the rows */
function renderStatement(
  reading: IncludeReading,
  store: Store,
  query: ReadQuery,
  inclusion: Inclusion,
  rows: readonly RawRow[],
): Promise<readonly Rendered[]> {
  let position = includedPosition(store, query)
  const positions = new Map<string, number>()
  for (const { alias, view } of query.included) {
    positions.set(alias, position)
    position += view.columns.length
  }
  return renderPart(reading, { store, inclusion, rows, wholeRows: rows, positions })
}

async function renderPart(reading: IncludeReading, part: Part): Promise<readonly Rendered[]> {
  const { store, inclusion, rows } = part
  const members: (readonly Member[])[] = []
  for (const record of inclusion.records) members.push(await recordMembers(reading, part, record))
  for (const list of inclusion.lists) members.push(await allListMembers(reading, store, list, rows))
  const records = await renderRows(reading, store, rows)
  const shownBytes = shownBytesOf(store.view)
  return records.map((record, index) => {
    let includedCount = 0
    let bytes = shownBytes(rows[index] ?? [])
    let listBytes = 0
    for (const ofRows of members) {
      const member = ofRows[index]
      if (member === undefined) continue
      includedCount += member.includedCount
      bytes += member.bytes
      listBytes += member.listBytes
      for (const [path, value] of member.values) {
        if (path.includes('.')) setPath(record, path, value)
        else record[path] = value
      }
    }
    return { record, includedCount, bytes, listBytes }
  })
}

/** What an include adds to one record: values by path. */
interface Member extends Omit<Rendered, 'record'> {
  readonly values: readonly (readonly [string, JsonRecord[string]])[]
}

async function renderRows(
  { session }: IncludeReading,
  { view, selected, rawRenderer, rowRenderer }: Store,
  rows: readonly RawRow[],
): Promise<readonly JsonRecord[]> {
  if (!view.lifecycle.load) return mapWithPauses(rows, rawRenderer.toRecord)
  return mapWithPauses(await afterLoad(session, view, rows.map(selected.columns.readRow)), rowRenderer.toRecord)
}

async function recordMembers(
  reading: IncludeReading,
  { store: parent, wholeRows, positions }: Part,
  { path, alias, view, inclusion }: Inclusion['records'][number],
): Promise<readonly Member[]> {
  const store = relatedStore(parent, view)
  const position = positions.get(alias) ?? 0
  const { length } = view.columns
  const slices = wholeRows.map((raw) => sliceOf(raw, position, length))
  const keyPositions = keyPositionsOf(store)
  // Transformers are not called for missing records: they need not handle null.
  const isPresent = slices.map((slice) => keyPositions.every((index) => slice[index] !== null))
  const ofPresent = <T>(all: readonly T[]): readonly T[] => all.filter((_, index) => isPresent[index])
  const part = { store, inclusion, rows: ofPresent(slices), wholeRows: ofPresent(wholeRows), positions }
  const rendered = (await renderPart(reading, part)).values()
  const name = path.join('.')
  return isPresent.map((present) => {
    const one = present ? rendered.next().value : undefined
    const { includedCount = 0, bytes = 0, listBytes = 0 } = one ?? {}
    return { includedCount, bytes, listBytes, values: [[name, one?.record ?? null]] }
  })
}

/** The columns of an included record. */
function sliceOf(raw: RawRow, position: number, length: number): RawRow {
  const slice: unknown[] = []
  for (let index = 0; index < length; index++) slice.push(raw[position + index] ?? null)
  return slice
}

/** Maximum number of bind parameters for the keys of parents. SQLite accepts 32,766 in a statement. */
const maxKeyValues = 4096

/** Reads the lists of all rows: those of very many rows with several statements. */
async function allListMembers(
  reading: IncludeReading,
  parent: Store,
  list: IncludedList,
  rows: readonly RawRow[],
): Promise<readonly Member[]> {
  const length = Math.floor(maxKeyValues / parent.view.key.columns.length)
  const members: Member[] = []
  for (let start = 0; start < rows.length; start += length) {
    members.push(...(await listMembers(reading, parent, list, rows.slice(start, start + length))))
  }
  return members
}

async function listMembers(
  reading: IncludeReading,
  parent: Store,
  list: IncludedList,
  rows: readonly RawRow[],
): Promise<readonly Member[]> {
  const store = relatedStore(parent, list.view)
  const { query, limit } = list
  const texts = rows.map(parentText(parent))
  const keys: ParentKeys = new Map(rows.map((raw, index) => [texts[index] ?? '', parent.readKey(raw)]))
  const { included, totals } = await readLists(reading, store, list, parent, keys)
  const byParent = groupByParent(included)
  const shown = [...byParent].map(([text, ofParent]) => [text, ofParent.slice(0, limit)] as const)
  const shownRows = shown.flatMap(([, ofParent]) => ofParent.map(({ raw }) => raw))
  reading.left.rows -= shownRows.length
  const inclusion = query.inclusion ?? { records: [], lists: [] }
  const all = await renderStatement(reading, store, query, inclusion, shownRows)
  takeFrom(reading, all)
  const rendered = all.values()
  const lists = new Map(shown.map(([text, ofParent]) => [text, ofParent.flatMap(() => rendered.next().value ?? [])]))
  const name = list.path.join('.')
  const nextPath = nextPathOf(reading, parent, list)
  return rows.map((raw, index) => {
    const text = texts[index] ?? ''
    const records = lists.get(text) ?? []
    const hasMore = (byParent.get(text)?.length ?? 0) > limit
    return {
      values: [
        [name, records.map(({ record }) => record)],
        [`${name}_next`, hasMore && limit > 0 ? nextPath(raw) : ''],
        ...(totals === undefined ? [] : [[`${name}_total`, totals.get(text) ?? 0] as const]),
      ],
      includedCount: records.reduce((sum, one) => sum + 1 + one.includedCount, 0),
      bytes: 0,
      listBytes: records.reduce((sum, one) => sum + one.bytes + one.listBytes, 0),
    }
  })
}

/** @throws {ApiError} `bad-query` before further lists are read, if those in memory are too large already */
function takeFrom({ left, limits }: IncludeReading, rendered: readonly Rendered[]): void {
  left.bytes -= rendered.reduce((sum, { bytes }) => sum + bytes, 0)
  if (left.bytes < 0) throw tooLargeIncluded(limits.pageBytes)
}

function groupByParent(rows: readonly IncludedRow[]): ReadonlyMap<string, readonly IncludedRow[]> {
  const byParent = new Map<string, IncludedRow[]>()
  for (const row of rows) {
    const ofParent = byParent.get(row.parent)
    if (ofParent === undefined) byParent.set(row.parent, [row])
    else ofParent.push(row)
  }
  return byParent
}

/** Positions of the columns of the key in the rows of a view. */
function keyPositionsOf({ view }: Store): readonly number[] {
  return view.key.columns.map((column) => view.columns.indexOf(column))
}

/** Returns a function for the text of a row's key. */
function parentText(store: Store): (raw: RawRow) => string {
  const positions = keyPositionsOf(store)
  return (raw) =>
    keyText(
      positions.map((position) => raw[position]),
      0,
      positions.length,
    )
}

/** The store of a related view, with the policies of the principal. */
function relatedStore(parent: Store, view: Store['view']): Store {
  const store = parent.storeOf(view)
  return parent.policies === undefined ? store : { ...store, policies: parent.policies }
}
