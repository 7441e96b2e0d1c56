import type { DbSession } from '../connection/db-session'
import type { ListQuery } from '../query/query'
import { countRows } from '../read/count'
import { rawRecordRenderer } from '../read/record'
import type { Limits } from '../request/limits'
import type { Counting, ListRequest } from '../request/list-request'
import type { ListPage, Total } from '../response/envelope'
import type { ResponseMemory } from '../response/held-bytes'
import { readPage } from './budget'
import { renderAfterLoad } from './loaded-page'
import { linksOf, toLinkableRows } from './page-links'
import type { Service } from './service'

/**
 * Reads the page of a list request, and builds its links and total.
 * @param query reads one row more than the page may have (specification: Links)
 */
export async function fetchPage(
  service: Service,
  session: DbSession,
  query: ListQuery,
  request: ListRequest,
  responseMemory: () => ResponseMemory,
): Promise<ListPage> {
  const total = request.count && (await countTotal(session, query, request.count, service.limits))
  if (request.limit === 0) return { records: [], next: undefined, previous: undefined, total }
  const pageRows = await readPage(session, query, service.limits, responseMemory)
  const page = pageRows.isCut ? toLinkableRows(pageRows) : pageRows
  const { rows } = page
  const inOrder = page.query.cursor?.direction === 'before' ? rows.toReversed() : rows
  const { resource } = query
  // Pages of a resource with `@AfterLoad` listeners have no cursors, so they are never read in reverse order.
  const records = resource.lifecycle.load
    ? await renderAfterLoad(session, page, service.limits, responseMemory)
    : inOrder.map(rawRecordRenderer(resource, session.dataSource))
  return { records, ...linksOf(service, session, request, page, inOrder), total }
}

async function countTotal(session: DbSession, query: ListQuery, count: Counting, limits: Limits): Promise<Total> {
  if (count === 'exact') return { total: await countRows(session, query, undefined) }
  const counted = await countRows(session, query, limits.count + 1)
  return { total: Math.min(counted, limits.count), total_capped: counted > limits.count }
}
