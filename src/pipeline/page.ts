import type { RawRow } from '../connection/statement'
import type { ListQuery } from '../query/query'
import { countRows } from '../read/count'
import { bytesOf } from '../read/measure'
import type { Counting, ListRequest } from '../request/list-request'
import type { ListPage, Total } from '../response/envelope'
import { readPageRows } from './limited-read'
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
  // Pages of a resource with `@AfterLoad` listeners have no cursors, so they are never read in reverse order.
  const records = reading.store.view.lifecycle.load
    ? await renderLoadedPage(reading, page)
    : await renderRows(reading, inOrder)
  return { records, ...linksOf(reading, request, page, inOrder), total }
}

/** @throws {ApiError} `unavailable` if the rows and their text exceed the memory for responses */
function renderRows({ store, responseMemory }: PageReading, rows: readonly RawRow[]) {
  let rowBytes: number | undefined
  return renderRecords(rows, store.rawRenderer.toRecord, (textBytes) => {
    rowBytes ??= rows.reduce((sum, row) => sum + bytesOf(row), 0)
    responseMemory().reserve(rowBytes + textBytes)
  })
}

async function countTotal({ session, store, limits }: PageReading, query: ListQuery, count: Counting): Promise<Total> {
  if (count === 'exact') return { total: await countRows(session, store, query, undefined) }
  const counted = await countRows(session, store, query, limits.count + 1)
  return { total: Math.min(counted, limits.count), total_capped: counted > limits.count }
}
