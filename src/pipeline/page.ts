import type { SelectPlan } from '../plan/plan'
import { orderName } from '../plan/select-plan'
import type { Session } from '../query/connection'
import { placeOf } from '../query/keyset'
import { afterLoad } from '../query/load'
import { type JsonRecord, recordOfRaw, recordOfRow } from '../query/record'
import { readerOf } from '../query/row'
import { readRaw } from '../query/select'
import type { RawRow } from '../query/statement'
import type { ListRequest } from '../request/list-request'
import type { PageStart } from '../request/page-token'
import type { Page, PageLink } from '../response/envelope'
import type { Service } from './service'

/** The page that a plan asks for, which asks for one row more (D21). */
export async function fetchPage(
  service: Service,
  session: Session,
  plan: SelectPlan,
  request: ListRequest,
): Promise<Page> {
  const found = await readRaw(session, plan)
  const more = found.length > request.limit
  const rows = more ? found.slice(0, request.limit) : found
  if (plan.start === undefined)
    return { records: await renderRows(session, plan, rows), ...countedLinks(request, more) }
  const inOrder = plan.start.direction === 'before' ? rows.toReversed() : rows
  const records = await renderRows(session, plan, inOrder)
  return { records, ...keysetLinks(service, plan, request, inOrder, more) }
}

type Links = Pick<Page, 'next' | 'previous'>

function countedLinks({ page }: ListRequest, more: boolean): Links {
  return {
    next: more ? { page: page + 1, after: undefined } : undefined,
    previous: page > 1 ? { page: page - 1, after: undefined } : undefined,
  }
}

/** Backwards, it is of the page before that one row more tells. */
function keysetLinks(
  { pageTokens, limits }: Service,
  plan: SelectPlan,
  { page }: ListRequest,
  rows: readonly RawRow[],
  more: boolean,
): Links {
  const isBackwards = plan.start?.direction === 'before'
  const ordering = isBackwards
    ? plan.ordering.map((order) => ({ ...order, descending: !order.descending }))
    : plan.ordering
  const linkTo = (direction: PageStart['direction'], row: RawRow | undefined): PageLink => {
    const place = row && placeOf(plan, row)
    const token = pageTokens.write({ direction, place }, orderName(plan.resource, ordering))
    const to = direction === 'after' ? page + 1 : Math.max(page - 1, 1)
    // No link holds it: texts that are sorted by may have any length.
    return { page: to, after: token.length > limits.parameterValue ? undefined : token }
  }
  const hasNext = isBackwards || more
  const hasPrevious = isBackwards ? more : plan.start?.place !== undefined || page > 1
  return {
    next: hasNext ? linkTo('after', rows.at(-1)) : undefined,
    previous: hasPrevious ? linkTo('before', rows[0]) : undefined,
  }
}

/** The records of rows, after `@AfterLoad` and subscribers have seen them where there are any. */
async function renderRows(
  session: Session,
  { resource }: SelectPlan,
  rows: readonly RawRow[],
): Promise<readonly JsonRecord[]> {
  const { dataSource } = session
  if (!resource.lifecycle.load) return rows.map(recordOfRaw(resource, dataSource))
  const read = rows.map(readerOf(resource.row, dataSource))
  return (await afterLoad(session, resource, read)).map(recordOfRow(resource))
}
