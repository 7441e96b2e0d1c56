import type { RawRow } from '../connection/statement'
import type { ListQuery } from '../query/query'
import { countRows } from '../read/count'
import { memoryOfRows } from '../read/row-bytes'
import type { Counting, ListRequest } from '../request/list-request'
import type { ListPage, Total } from '../response/envelope'
import { renderIncluding } from './include-records'
import { type PageRows, readPageRows } from './limited-read'
import { renderLoadedPage } from './loaded-page'
import { linksOf, toLinkableRows } from './page-links'
import type { PageReading } from './page-reading'
import { renderRecords } from './render-records'

/**
 * Reads the page of a list request, and builds its links and total.
 * @param query reads one row more than the page may have (specification: Links)
 */
export async function readListPage(reading: PageReading, query: ListQuery, request: ListRequest): Promise<ListPage> {
  const total = request.count && (await countTotal(reading, query, request.count))
  if (request.limit === 0) return { records: [], next: undefined, previous: undefined, total }
  const pageRows = await readPageRows(reading, query)
  const page = pageRows.isCut ? toLinkableRows(pageRows) : pageRows
  const { rows } = page
  const inOrder = page.query.cursor?.direction === 'before' ? rows.toReversed() : rows
  return {
    records: await renderPage(reading, { ...page, rows: inOrder }),
    ...linksOf(reading, request, page, inOrder),
    total,
  }
}

/**
 * Renders the rows of a page, in this order.
 * @throws {ApiError} `bad-query`, `unavailable`
 */
export async function renderPage(reading: PageReading, page: PageRows): Promise<ListPage['records']> {
  // Pages of a resource with `@AfterLoad` listeners have no cursors, so they are never read in reverse order.
  if (reading.store.view.lifecycle.load) return renderLoadedPage(reading, page)
  return renderRows(reading, page.query, page.rows)
}

/** @throws {ApiError} `unavailable` if the rows and their text exceed the memory for responses */
async function renderRows(reading: PageReading, query: ListQuery, rows: readonly RawRow[]) {
  const { session, store, responseMemory } = reading
  if (query.inclusion !== undefined) return renderIncluding(reading, query, query.inclusion, rows, 0)
  let rowBytes: number | undefined
  return renderRecords(session, rows, store.rawRenderer.toRecord, (textBytes) => {
    rowBytes ??= memoryOfRows(rows)
    responseMemory().reserve(rowBytes + textBytes)
  })
}

async function countTotal({ session, store, limits }: PageReading, query: ListQuery, count: Counting): Promise<Total> {
  if (count === 'exact') return { total: await countRows(session, store, query, undefined) }
  const counted = await countRows(session, store, query, limits.count + 1)
  return { total: Math.min(counted, limits.count), total_capped: counted > limits.count }
}
