import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { ApiError, unavailable } from '../errors'
import { withKeysetPaging } from '../query/list-query'
import type { ListQuery } from '../query/query'
import { sortsAsKeyset } from '../read/keyset'
import { areShort, measureOf, type RowMeasure, type ValueLimit, valueLimitFor, valueLimitOf } from '../read/measure'
import { readRaw } from '../read/select'
import type { Store } from '../read/store'
import { type Limits, maxRecordBytes } from '../request/limits'
import { requireRow } from './item'
import type { PageReading } from './page-reading'
import type { ReadRequest } from './service'

/** Rows of a page, in the order of the query that read them. */
export interface PageRows {
  /** Query that read the rows. */
  readonly query: ListQuery
  /**
   * Value limit of the statement that read the rows. If the resource has `@AfterLoad` listeners, longer values are
   * still missing: `renderLoadedPage` reads them in pieces.
   */
  readonly valueLimit: ValueLimit
  readonly rows: readonly RawRow[]
  readonly hasMore: boolean
  /** Whether the page has fewer rows than requested because of a size limit. */
  readonly isCut: boolean
}

/** Rows of a page that were read together with their sizes. */
interface MeasuredRows extends PageRows {
  readonly valueLimit: number
}

/** Maximum number of attempts to read long rows, because rows can grow between two attempts. */
export const readAttempts = 3

/**
 * Reads the rows of a page, within the size limits. The first statement leaves out long values and returns their
 * sizes. Only if it has left out any, a second statement reads as many rows as `limits.pageBytes` allows.
 * @param query reads one row more than the page may have
 * @throws {ApiError} `record-too-large`, `unavailable`
 */
export async function readPageRows(reading: PageReading, query: ListQuery): Promise<PageRows> {
  const { session, store, limits } = reading
  const pageLength = query.limit - 1
  const valueLimit = valueLimitFor(store, query, query.limit, limits.pageBytes)
  const readRows = await readRaw(session, store, query, valueLimit)
  const hasMore = readRows.length > pageLength
  const rows = hasMore ? readRows.slice(0, pageLength) : readRows
  if (valueLimit === undefined || areShort(store, query, rows, Math.min(valueLimit, limits.itemBytes))) {
    return { query, valueLimit, rows, hasMore, isCut: false }
  }
  return readLongRows(reading, { query, valueLimit, rows, hasMore, isCut: false })
}

/**
 * Reads as many rows of a page as the size limits allow, with their long values.
 * @param firstRead rows of the first statement, without their long values, and the query of the request
 * @throws {ApiError} `record-too-large`, `unavailable`
 */
async function readLongRows(reading: PageReading, firstRead: MeasuredRows): Promise<PageRows> {
  const { session, store, limits, responseMemory } = reading
  let page = firstRead
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    const measure = measureOf(store, page.query, page.valueLimit)
    const responseSizes = page.rows.map((raw) => responseSizeOf(measure, raw))
    requireRecordSize(store, page.rows[0], responseSizes[0], limits)
    const rows = page.rows.slice(0, countRowsWithin(responseSizes, limits))
    const isCut = page.isCut || rows.length < page.rows.length
    const neededQuery = isCut ? withTokenLinks(store, firstRead.query) : firstRead.query
    // Links with tokens need cursor values, which only a query with a cursor reads.
    const hasCursorValues = (neededQuery.cursor === undefined) === (page.query.cursor === undefined)
    const hasMore = page.hasMore || isCut
    if (store.view.lifecycle.load || (hasCursorValues && rows.every(measure.isWhole))) {
      return { query: page.query, valueLimit: page.valueLimit, rows, hasMore, isCut }
    }
    const sizes = rows.map(measure.sizeOf)
    responseMemory().reserve(sizes.reduce((sum, size) => sum + size, 0))
    const nextQuery = { ...neededQuery, limit: sizes.length }
    const valueLimit = valueLimitOf(Math.max(...sizes))
    const nextRows = await readRaw(session, store, nextQuery, valueLimit)
    page = { query: nextQuery, valueLimit, rows: nextRows, hasMore, isCut }
    // The rows of the page and all rows after them were deleted in the meantime. A link that follows no row would lead to the
    // first page.
    if (nextRows.length === 0) return { ...page, hasMore: false, isCut: false }
  }
  throw changedDuringRead()
}

/** Number of rows from the start of the page that are within the size limits; at least one. */
function countRowsWithin(sizes: readonly number[], { pageBytes, itemBytes }: Limits): number {
  let sum = 0
  const end = sizes.findIndex((size, index) => {
    sum += size
    return index > 0 && (sum > pageBytes || size > itemBytes)
  })
  return end < 0 ? sizes.length : end
}

/**
 * Query for a page with fewer rows than requested. It uses keyset paging if possible, so that the links have tokens: a
 * link by page number can only start at a multiple of the page size.
 */
function withTokenLinks(store: Store, query: ListQuery): ListQuery {
  return query.cursor === undefined && sortsAsKeyset(store, query) ? withKeysetPaging(query) : query
}

/**
 * Reads the row of an item path, within the size limits.
 * @throws {ApiError} `not-found`, `record-too-large`, `unavailable`
 */
export async function readItem(session: DbSession, request: ReadRequest, limits: Limits): Promise<RawRow> {
  const { store, responseMemory } = request
  const query = { select: 'columns', cursor: undefined, ordering: [], included: [] } as const
  let valueLimit = valueLimitFor(store, query, 1, limits.pageBytes)
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    const { raw } = await requireRow(request, session, 'columns', valueLimit)
    if (valueLimit === undefined || areShort(store, query, [raw], Math.min(valueLimit, limits.itemBytes))) return raw
    const measure = measureOf(store, query, valueLimit)
    requireRecordSize(store, raw, responseSizeOf(measure, raw), limits)
    if (measure.isWhole(raw)) return raw
    const size = measure.sizeOf(raw)
    responseMemory().reserve(size)
    valueLimit = valueLimitOf(size)
  }
  throw changedDuringRead()
}

/**
 * Size of a row's shown long columns, in bytes. It is Infinity if the hidden columns exceed `maxRecordBytes`, because
 * such a row cannot be read. Apart from this, the size of hidden columns does not affect responses.
 */
export function responseSizeOf({ sizeOf, shownSizeOf }: RowMeasure, raw: RawRow): number {
  const shownSize = shownSizeOf(raw)
  return sizeOf(raw) - shownSize > maxRecordBytes ? Number.POSITIVE_INFINITY : shownSize
}

/**
 * Checks the size of a record against `limits.itemBytes`. The error names the key of the record, unless `@AfterLoad`
 * listeners may change the key.
 * @param raw undefined for a page without rows
 * @throws {ApiError} `record-too-large`
 */
export function requireRecordSize(
  { view, renderKey }: Store,
  raw: RawRow | undefined,
  size: number | undefined,
  { itemBytes }: Limits,
): void {
  if (raw === undefined || size === undefined || size <= itemBytes) return
  const key = view.lifecycle.load ? undefined : renderKey(raw)
  const record = key === undefined ? `a ${view.name}` : `the ${view.name} with id ${String(key)}`
  const problem = Number.isFinite(size)
    ? `has ${size} bytes; a record in a response may have at most ${itemBytes}`
    : 'has more bytes than can be read'
  const advice = key === undefined ? '' : `, or leave it out of a list with id__ne=${String(key)}`
  throw new ApiError('record-too-large', `${record} ${problem}; select fewer fields${advice}`)
}

/** Creates the 503 for rows that were changed during each attempt to read them. */
export function changedDuringRead(): ApiError {
  return unavailable('the records were changed while they were read; try again')
}
