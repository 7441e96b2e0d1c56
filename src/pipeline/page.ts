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

/** The page that a plan asks for, which asks for one row more (specification: Links). */
export async function fetchPage(
  service: Service,
  session: DbSession,
  plan: ListQuery,
  request: ListRequest,
  held: () => ResponseMemory,
): Promise<ListPage> {
  const total = request.count && (await countTotal(session, plan, request.count, service.limits))
  if (request.limit === 0) return { records: [], next: undefined, previous: undefined, total }
  const read = await readPage(session, plan, service.limits, held)
  const page = read.isCut ? toLinkableRows(read) : read
  const { rows } = page
  const inOrder = page.plan.cursor?.direction === 'before' ? rows.toReversed() : rows
  const { resource } = plan
  // Pages that listeners see have no cursors, so they are never read backwards.
  const records = resource.lifecycle.load
    ? await renderAfterLoad(session, page, service.limits, held)
    : inOrder.map(rawRecordRenderer(resource, session.dataSource))
  return { records, ...linksOf(service, session, request, page, inOrder), total }
}

async function countTotal(session: DbSession, plan: ListQuery, count: Counting, limits: Limits): Promise<Total> {
  if (count === 'exact') return { total: await countRows(session, plan, undefined) }
  const counted = await countRows(session, plan, limits.count + 1)
  return { total: Math.min(counted, limits.count), total_capped: counted > limits.count }
}
