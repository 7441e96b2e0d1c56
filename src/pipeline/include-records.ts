import type { RawRow } from '../connection/statement'
import { ApiError } from '../errors'
import type { IncludedList, Inclusion } from '../query/query'
import { afterLoad } from '../read/after-load'
import { setPath } from '../read/entity'
import { countIncluded, type IncludedRow, keyText, type ParentKeys } from '../read/included'
import { includedPosition, type ReadQuery } from '../read/measure'
import type { JsonRecord } from '../read/record'
import type { Store } from '../read/store'
import { nextPathOf } from './included-links'
import { type IncludeReading, readLists, tooManyIncluded } from './included-reading'
import type { PageReading } from './page-reading'

/** JSON of a record with the records that it includes. */
interface Rendered {
  readonly record: JsonRecord
  /** Number of records in the included lists. */
  readonly includedCount: number
  /** Approximate size of the rows, in bytes. */
  readonly bytes: number
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
 * @throws {ApiError} `bad-query` if the response would have too many included records, or be too large
 */
export async function renderIncluding(
  reading: PageReading,
  query: ReadQuery,
  inclusion: Inclusion,
  rows: readonly RawRow[],
): Promise<readonly JsonRecord[]> {
  const { limits, store } = reading
  const rendered = await renderStatement({ ...reading, left: { rows: limits.included } }, store, query, inclusion, rows)
  // A record that several others include is in the response several times.
  const count = rendered.reduce((sum, one) => sum + one.includedCount, 0)
  if (count > limits.included) throw tooManyIncluded(limits.included)
  const bytes = rendered.reduce((sum, one) => sum + one.bytes, 0)
  if (bytes > limits.pageBytes) {
    throw new ApiError(
      'bad-query',
      `the records and those that they include have ${bytes} bytes; at most ${limits.pageBytes} are allowed: lower a limit, or select fields`,
    )
  }
  reading.responseMemory().reserve(bytes)
  return rendered.map(({ record }) => record)
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
  for (const list of inclusion.lists) members.push(await listMembers(reading, store, list, rows))
  const records = await renderRows(reading, store, rows)
  return records.map((record, index) => {
    let includedCount = 0
    let bytes = lengthOf(rows[index] ?? [])
    for (const ofRows of members) {
      const member = ofRows[index]
      if (member === undefined) continue
      includedCount += member.includedCount
      bytes += member.bytes
      for (const [path, value] of member.values) {
        if (path.includes('.')) setPath(record, path, value)
        else record[path] = value
      }
    }
    return { record, includedCount, bytes }
  })
}

/** What an include adds to one record: values by path. */
interface Member {
  readonly values: readonly (readonly [string, JsonRecord[string]])[]
  readonly includedCount: number
  readonly bytes: number
}

async function renderRows(
  { session }: IncludeReading,
  { view, selected, rawRenderer, rowRenderer }: Store,
  rows: readonly RawRow[],
): Promise<readonly JsonRecord[]> {
  if (!view.lifecycle.load) return rows.map(rawRenderer.toRecord)
  return (await afterLoad(session, view, rows.map(selected.columns.readRow))).map(rowRenderer.toRecord)
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
  const isPresent = slices.map((slice) => store.readKey(slice) !== null)
  const ofPresent = <T>(all: readonly T[]): readonly T[] => all.filter((_, index) => isPresent[index])
  const part = { store, inclusion, rows: ofPresent(slices), wholeRows: ofPresent(wholeRows), positions }
  const rendered = (await renderPart(reading, part)).values()
  const name = path.join('.')
  return isPresent.map((present) => {
    const one = present ? rendered.next().value : undefined
    return { values: [[name, one?.record ?? null]], includedCount: one?.includedCount ?? 0, bytes: one?.bytes ?? 0 }
  })
}

/** The columns of an included record. */
function sliceOf(raw: RawRow, position: number, length: number): RawRow {
  const slice: unknown[] = []
  for (let index = 0; index < length; index++) slice.push(raw[position + index] ?? null)
  return slice
}

/** Approximate size of a row, in bytes: the length of its texts and buffers. */
function lengthOf(raw: RawRow): number {
  let bytes = 0
  for (const value of Array.isArray(raw) ? raw : Object.values(raw)) {
    if (typeof value === 'string' || Buffer.isBuffer(value)) bytes += value.length
  }
  return bytes
}

async function listMembers(
  reading: IncludeReading,
  parent: Store,
  list: IncludedList,
  rows: readonly RawRow[],
): Promise<readonly Member[]> {
  const store = relatedStore(parent, list.view)
  const { query, limit, isCounted } = list
  const texts = rows.map(parentText(parent))
  const keys: ParentKeys = new Map(rows.map((raw, index) => [texts[index] ?? '', parent.readKey(raw)]))
  if (keys.size === 0) return []
  const totals = isCounted ? await countIncluded(reading.session, store, list, parent, keys) : undefined
  const included = limit === 0 ? [] : await readLists(reading, store, list, parent, keys)
  const byParent = groupByParent(included)
  const shown = [...byParent].map(([text, ofParent]) => [text, ofParent.slice(0, limit)] as const)
  const shownRows = shown.flatMap(([, ofParent]) => ofParent.map(({ raw }) => raw))
  const inclusion = query.inclusion ?? { records: [], lists: [] }
  const rendered = (await renderStatement(reading, store, query, inclusion, shownRows)).values()
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
      bytes: records.reduce((sum, one) => sum + one.bytes, 0),
    }
  })
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

/** Returns a function for the text of a row's key. */
function parentText({ view }: Store): (raw: RawRow) => string {
  const positions = view.key.columns.map((column) => view.columns.indexOf(column))
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
