import type { KeysetStart, ListPlan } from '../plan/plan'
import type { Session } from '../query/connection'
import { placeOf } from '../query/keyset'
import { afterLoad } from '../query/load'
import { type JsonRecord, recordOfRaw, recordOfRow } from '../query/record'
import { readerOf } from '../query/row'
import { readRaw } from '../query/select'
import type { RawRow } from '../query/statement'
import type { ListRequest } from '../request/list-request'
import type { PageStart, PlaceValue } from '../request/page-token'
import type { Page, PageLink } from '../response/envelope'
import type { Resource } from '../schema/registry'
import type { Service } from './service'

/** The page that a plan asks for, which asks for one row more (D21). */
export async function fetchPage(
  service: Service,
  session: Session,
  plan: ListPlan,
  request: ListRequest,
): Promise<Page> {
  const found = await readRaw(session, plan)
  const { start } = plan
  const hasMore = found.length > request.limit
  const rows = hasMore ? found.slice(0, request.limit) : found
  const inOrder = start?.direction === 'before' ? rows.toReversed() : rows
  const { resource } = plan
  const records = resource.lifecycle.load
    ? await renderLoaded(session, resource, inOrder)
    : inOrder.map(recordOfRaw(resource, session.dataSource))
  if (start === undefined) return { records, ...countedLinks(request, hasMore) }
  const ends = [inOrder[0], inOrder.at(-1)].map((row) => row && placeOf(plan, row))
  return { records, ...keysetLinks(service, start, request, { isEmpty: inOrder.length === 0, ends, hasMore }) }
}

type Links = Pick<Page, 'next' | 'previous'>

function countedLinks({ page }: ListRequest, hasMore: boolean): Links {
  return {
    next: hasMore ? { page: page + 1, after: undefined } : undefined,
    previous: page > 1 ? { page: page - 1, after: undefined } : undefined,
  }
}

/** What links lead on from: the places of the first and the last row, and whether there is one row more. */
interface Ends {
  readonly isEmpty: boolean
  readonly ends: readonly (readonly PlaceValue[] | undefined)[]
  readonly hasMore: boolean
}

/** One row more tells of a next page; read backwards, of a previous one. */
function keysetLinks(
  { pageTokens, limits }: Service,
  { direction, place, order }: KeysetStart,
  { page }: ListRequest,
  { isEmpty, ends: [first, last], hasMore }: Ends,
): Links {
  const isBackwards = direction === 'before'
  const linkTo = (to: PageStart['direction'], from: readonly PlaceValue[] | undefined): PageLink => {
    const token = pageTokens.write({ direction: to, place: from }, order)
    // Texts that are sorted by may have any length, and no link holds them.
    const isTold = (isEmpty || from !== undefined) && token.length <= limits.parameterValue
    return { page: to === 'after' ? page + 1 : Math.max(page - 1, 1), after: isTold ? token : undefined }
  }
  const hasNext = isBackwards ? place !== undefined : hasMore
  const hasPrevious = isBackwards ? hasMore : place !== undefined || page > 1
  return {
    next: hasNext ? linkTo('after', last) : undefined,
    previous: hasPrevious ? linkTo('before', first) : undefined,
  }
}

/** The records of rows, after `@AfterLoad` and subscribers have seen them. */
async function renderLoaded(
  session: Session,
  resource: Resource,
  rows: readonly RawRow[],
): Promise<readonly JsonRecord[]> {
  const read = rows.map(readerOf(resource.row, session.dataSource))
  return (await afterLoad(session, resource, read)).map(recordOfRow(resource))
}
