import type { ListPlan } from '../plan/plan'
import type { Session } from '../query/connection'
import { countRows } from '../query/count'
import { recordOfRaw } from '../query/record'
import type { Limits } from '../request/limits'
import type { Counting, ListRequest } from '../request/list-request'
import type { Page, Total } from '../response/envelope'
import type { HeldBytes } from '../response/held-bytes'
import { readPage } from './budget'
import { renderLoaded } from './loaded-page'
import { linksOf, rowsOfCut } from './page-links'
import type { Service } from './service'

/** The page that a plan asks for, which asks for one row more (specification: Links). */
export async function fetchPage(
  service: Service,
  session: Session,
  plan: ListPlan,
  request: ListRequest,
  held: () => HeldBytes,
): Promise<Page> {
  const total = request.count && (await countTotal(session, plan, request.count, service.limits))
  if (request.limit === 0) return { records: [], next: undefined, previous: undefined, total }
  const read = await readPage(session, plan, service.limits, held)
  const page = read.isCut ? rowsOfCut(read) : read
  const { rows } = page
  const inOrder = page.plan.start?.direction === 'before' ? rows.toReversed() : rows
  const { resource } = plan
  // Pages that listeners see have no cursors, so they are never read backwards.
  const records = resource.lifecycle.load
    ? await renderLoaded(session, page, service.limits, held)
    : inOrder.map(recordOfRaw(resource, session.dataSource))
  return { records, ...linksOf(service, session, request, page, inOrder), total }
}

async function countTotal(session: Session, plan: ListPlan, count: Counting, limits: Limits): Promise<Total> {
  if (count === 'exact') return { total: await countRows(session, plan, undefined) }
  const counted = await countRows(session, plan, limits.count + 1)
  return { total: Math.min(counted, limits.count), total_capped: counted > limits.count }
}
