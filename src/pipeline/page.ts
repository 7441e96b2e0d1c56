import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { ListQuery } from '../query/query'
import { countRows } from '../read/count'
import { bytesOf } from '../read/measure'
import type { Store } from '../read/store'
import type { Limits } from '../request/limits'
import type { Counting, ListRequest } from '../request/list-request'
import type { ListPage, Total } from '../response/envelope'
import type { ResponseMemory } from '../response/held-bytes'
import { readPageRows } from './limited-read'
import { renderLoadedPage } from './loaded-page'
import { linksOf, toLinkableRows } from './page-links'
import { renderRecords } from './render-records'
import type { Service } from './service'

/**
 * Reads the page of a list request, and builds its links and total.
 * @param query reads one row more than the page may have (specification: Links)
 */
export async function readListPage(
  service: Service,
  session: DbSession,
  store: Store,
  query: ListQuery,
  request: ListRequest,
  responseMemory: () => ResponseMemory,
): Promise<ListPage> {
  const total = request.count && (await countTotal(session, store, query, request.count, service.limits))
  if (request.limit === 0) return { records: [], next: undefined, previous: undefined, total }
  const pageRows = await readPageRows(session, store, query, service.limits, responseMemory)
  const page = pageRows.isCut ? toLinkableRows(pageRows) : pageRows
  const { rows } = page
  const inOrder = page.query.cursor?.direction === 'before' ? rows.toReversed() : rows
  // Pages of a resource with `@AfterLoad` listeners have no cursors, so they are never read in reverse order.
  const records = store.view.lifecycle.load
    ? await renderLoadedPage(session, store, page, service.limits, responseMemory)
    : await renderRows(inOrder, store, responseMemory)
  return { records, ...linksOf(service, store, request, page, inOrder), total }
}

/** @throws {ApiError} `unavailable` if the rows and their text exceed the memory for responses */
function renderRows(rows: readonly RawRow[], { rawRenderer }: Store, responseMemory: () => ResponseMemory) {
  let rowBytes: number | undefined
  return renderRecords(rows, rawRenderer.toRecord, (textBytes) => {
    rowBytes ??= rows.reduce((sum, row) => sum + bytesOf(row), 0)
    responseMemory().reserve(rowBytes + textBytes)
  })
}

async function countTotal(
  session: DbSession,
  store: Store,
  query: ListQuery,
  count: Counting,
  limits: Limits,
): Promise<Total> {
  if (count === 'exact') return { total: await countRows(session, store, query, undefined) }
  const counted = await countRows(session, store, query, limits.count + 1)
  return { total: Math.min(counted, limits.count), total_capped: counted > limits.count }
}
