import { mapWithPauses, pause } from '../connection/pauses'
import type { RawRow } from '../connection/statement'
import type { IncludedList, Inclusion } from '../query/query'
import { toRecords } from '../read/after-load'
import { keyPositionsOf, parentText } from '../read/included'
import { maxKeyValues, type ParentKeys } from '../read/included-statements'
import { includedPosition, type ReadQuery } from '../read/measure'
import type { JsonRecord } from '../read/record'
import { memoryOfRows } from '../read/row-bytes'
import type { Store } from '../read/store'
import { nextPathOf } from './included-links'
import { type IncludeReading, readLists, tooLargeIncluded, tooManyIncluded } from './included-reading'
import { groupByParent, memberSetter, relatedStore, sliceOf } from './included-rows'
import type { PageReading } from './page-reading'

/**
 * Memory that is counted for each record in addition to the values of its row, in bytes. With 300 concurrent responses of 11,000 records with
 * one to three short values each, a record took 290 bytes. Less is counted on purpose: counted bytes generally take about three times as much
 * memory. With 128 bytes, lists of 20 records with 100 short related records were counted too, which took 5 % of their time.
 */
const countedRecordBytes = 64

const nothing: Inclusion = { records: [], lists: [], resources: [] }

/** Record of the response, with what it includes so far. */
interface Rendered {
  readonly record: JsonRecord
  /** Number of records in the included lists. */
  includedCount: number
  /** Approximate size of its JSON, with the related records that its row has, in bytes. */
  bytes: number
  /** The same for the records in the included lists, with the paths of the records that follow. */
  listBytes: number
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
  /** Whether the records are in an included list. The size of the records of a page was limited when they were read. */
  readonly isListed: boolean
}

/**
 * Renders rows with the records that the request includes, and reads the included lists, each with one statement.
 * @param query that has read the rows
 * @param renderedBytes size of what was rendered before for the response, in bytes
 * @returns the members of a JSON array, separated by commas
 * @throws {ApiError} `bad-query` if the response would have too many included records, or be too large; `unavailable` if
 * there is not enough memory for it
 */
export async function renderIncluding(
  reading: PageReading,
  query: ReadQuery,
  inclusion: Inclusion,
  rows: readonly RawRow[],
  renderedBytes: number,
): Promise<string> {
  const { limits, store, included = { records: 0, bytes: 0 } } = reading
  const left = { rows: limits.included - included.records, bytes: limits.pageBytes - included.bytes }
  const includeReading: IncludeReading = {
    ...reading,
    left,
    readsDeleted: query.readsDeleted === true,
    reserved: { bytes: renderedBytes },
  }
  reserveRows(includeReading, rows)
  const rendered = await renderStatement(includeReading, store, query, inclusion, rows, false)
  // A record that several others include is in the response several times.
  included.records += rendered.reduce((sum, one) => sum + one.includedCount, 0)
  if (included.records > limits.included) throw tooManyIncluded(limits.included)
  // The size of the rows themselves has been limited when they were read.
  const listBytes = rendered.reduce((sum, one) => sum + one.listBytes, 0)
  included.bytes += listBytes
  if (included.bytes > limits.pageBytes) throw tooLargeIncluded(limits.pageBytes)
  reserveMore(
    includeReading,
    rendered.reduce((sum, one) => sum + one.bytes, listBytes),
  )
  const { toShown = (record) => record } = reading
  return (await mapWithPauses(reading.session, rendered, ({ record }) => JSON.stringify(toShown(record)))).join()
}

/** Renders the rows of a statement. @param store of the rows @param isListed whether they are in an included list */
function renderStatement(
  reading: IncludeReading,
  store: Store,
  query: ReadQuery,
  inclusion: Inclusion,
  rows: readonly RawRow[],
  isListed: boolean,
): Promise<readonly Rendered[]> {
  let position = includedPosition(store, query)
  const positions = new Map<string, number>()
  for (const { alias, view } of query.included) {
    positions.set(alias, position)
    position += view.columns.length
  }
  return renderPart(reading, { store, inclusion, rows, wholeRows: rows, positions, isListed })
}

async function renderPart(reading: IncludeReading, part: Part): Promise<readonly Rendered[]> {
  const { store, inclusion, rows, isListed } = part
  const sizes = await mapWithPauses(reading.session, rows, store.shownBytes)
  if (isListed)
    takeBytes(
      reading,
      sizes.reduce((sum, bytes) => sum + bytes, 0),
    )
  await pause(reading.session)
  const records = await toRecords(reading.session, store, rows)
  await pause(reading.session)
  const rendered = records.map((record, index) => {
    return { record, includedCount: 0, bytes: sizes[index] ?? 0, listBytes: 0 }
  })
  for (const included of inclusion.records) await addRecords(reading, part, included, rendered)
  for (const list of inclusion.lists) await addLists(reading, store, list, rows, rendered)
  return rendered
}

/** The context of included records, which are never soft-deleted. */
function ofLiveRecords(reading: IncludeReading): IncludeReading {
  return reading.readsDeleted ? { ...reading, readsDeleted: false } : reading
}

/** Adds an included record, or null, to each record. @param rendered the records of the rows */
async function addRecords(
  reading: IncludeReading,
  { store: parent, wholeRows, positions, isListed }: Part,
  { path, alias, view, inclusion }: Inclusion['records'][number],
  rendered: readonly Rendered[],
): Promise<void> {
  const store = relatedStore(parent, view)
  const position = positions.get(alias) ?? 0
  const { length } = view.columns
  const keyPositions = keyPositionsOf(store).map((index) => position + index)
  const setMember = memberSetter(path)
  // Transformers are not called for missing records: they need not handle null.
  const present: number[] = []
  const presentRows: RawRow[] = []
  for (const [index, raw] of wholeRows.entries()) {
    if (keyPositions.some((key) => raw[key] === null)) {
      const owner = rendered[index]
      if (owner !== undefined) setMember(owner.record, null)
    } else {
      present.push(index)
      presentRows.push(raw)
    }
  }
  reserveMore(reading, presentRows.length * countedRecordBytes)
  const rows = await mapWithPauses(reading.session, presentRows, (raw) => sliceOf(raw, position, length))
  const related = await renderPart(ofLiveRecords(reading), {
    store,
    inclusion,
    rows,
    wholeRows: presentRows,
    positions,
    isListed,
  })
  for (const [index, one] of related.entries()) {
    const owner = rendered[present[index] ?? -1]
    if (owner === undefined) continue
    setMember(owner.record, one.record)
    owner.includedCount += one.includedCount
    owner.bytes += one.bytes
    owner.listBytes += one.listBytes
  }
}

/** Adds an included list to each record. For very many records, the lists are read with several statements. */
async function addLists(
  reading: IncludeReading,
  parent: Store,
  list: IncludedList,
  rows: readonly RawRow[],
  rendered: readonly Rendered[],
): Promise<void> {
  const length = Math.floor(maxKeyValues / parent.view.key.columns.length)
  for (let start = 0; start < rows.length; start += length) {
    await addListsOf(reading, parent, list, rows.slice(start, start + length), rendered.slice(start, start + length))
  }
}

async function addListsOf(
  reading: IncludeReading,
  parent: Store,
  list: IncludedList,
  rows: readonly RawRow[],
  rendered: readonly Rendered[],
): Promise<void> {
  const store = relatedStore(parent, list.view)
  const { query, limit } = list
  const texts = rows.map(parentText(parent))
  const keys: ParentKeys = new Map(rows.map((raw, index) => [texts[index] ?? '', parent.readKey(raw)]))
  const { included, totals } = await readLists(reading, { store, list, parent, keys })
  reserveRows(
    reading,
    included.map(({ raw }) => raw),
  )
  await pause(reading.session)
  const byParent = groupByParent(included)
  const shown = [...byParent].map(([text, ofParent]) => [text, ofParent.slice(0, limit)] as const)
  const shownRows = shown.flatMap(([, ofParent]) => ofParent.map(({ raw }) => raw))
  reading.left.rows -= shownRows.length
  await pause(reading.session)
  const inclusion = query.inclusion ?? nothing
  const all = await renderStatement(ofLiveRecords(reading), store, query, inclusion, shownRows, true)
  await pause(reading.session)
  const related = all.values()
  const lists = new Map(shown.map(([text, ofParent]) => [text, ofParent.flatMap(() => related.next().value ?? [])]))
  const nextPath = nextPathOf(reading, parent, list)
  const setMember = memberSetter(list.path)
  const setNext = memberSetter(list.path, '_next')
  const setTotal = memberSetter(list.path, '_total')
  await pause(reading.session)
  for (const [index, owner] of rendered.entries()) {
    const text = texts[index] ?? ''
    const members = lists.get(text) ?? []
    const hasMore = limit > 0 && (byParent.get(text)?.length ?? 0) > limit
    setMember(
      owner.record,
      members.map(({ record }) => record),
    )
    const next = hasMore ? nextPath(rows[index] ?? []) : ''
    setNext(owner.record, next)
    // The path repeats the filters, so it can be longer than the record. It consists of ASCII characters.
    const nextBytes = next?.length ?? 0
    owner.listBytes += nextBytes
    takeBytes(reading, nextBytes)
    if (totals !== undefined) setTotal(owner.record, totals.get(text) ?? 0)
    for (const { includedCount, bytes, listBytes } of members) {
      owner.includedCount += 1 + includedCount
      owner.listBytes += bytes + listBytes
    }
  }
}

/** As {@link reserveMore}, for the rows that a statement has read. */
function reserveRows(reading: IncludeReading, rows: readonly RawRow[]): void {
  reserveMore(reading, memoryOfRows(rows) + rows.length * countedRecordBytes)
}

/**
 * Adds to the memory that is reserved for the response. Called before each pause after rows were read: while requests wait for their turns,
 * the rows of all of them are in memory.
 * @throws {ApiError} `unavailable`
 */
function reserveMore({ reserved, responseMemory }: IncludeReading, bytes: number): void {
  reserved.bytes += bytes
  responseMemory().reserve(reserved.bytes)
}

/** @throws {ApiError} `bad-query` before further records are rendered, if those in memory are too large already */
function takeBytes({ left, limits }: IncludeReading, bytes: number): void {
  left.bytes -= bytes
  if (left.bytes < 0) throw tooLargeIncluded(limits.pageBytes)
}
