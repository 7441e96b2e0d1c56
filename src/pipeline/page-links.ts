import type { DataSource } from 'typeorm'
import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { KeysetCursor, ListQuery } from '../query/query'
import { cursorValuesOf } from '../read/keyset'
import type { Cursor } from '../request/cursor'
import type { ListRequest } from '../request/list-request'
import type { ListPage, PageLink } from '../response/envelope'
import type { PageRows } from './budget'
import type { Service } from './service'

type Links = Pick<ListPage, 'next' | 'previous'>

/** Rows of a page that links can lead on from. */
export interface LinkedRows extends PageRows {
  /** Link by number to the page after these rows, with a smaller `limit`; undefined for pages that did not end early. */
  readonly numbered?: PageLink
}

/** The rows of a page that the budget of bytes has ended, as far as a link can lead on exactly where it has no token. */
export function rowsOfCut(read: PageRows): LinkedRows {
  const { plan, rows } = read
  if (plan.cursor !== undefined) return read
  const limit = pageLength(plan.offset, rows.length)
  return { ...read, rows: rows.slice(0, limit), numbered: { page: plan.offset / limit + 2, after: undefined, limit } }
}

/** The greatest number of records, up to `most`, of which some whole pages end at an offset. */
function pageLength(offset: number, most: number): number {
  for (let length = most; length > 1; length--) if (offset % length === 0) return length
  return 1
}

/** @param inOrder the rows in the order that the client has asked for */
export function linksOf(
  service: Service,
  { dataSource }: DbSession,
  request: ListRequest,
  { plan, hasMore, numbered }: LinkedRows,
  inOrder: readonly RawRow[],
): Links {
  const { cursor } = plan
  const links =
    cursor === undefined
      ? countedLinks(request, hasMore)
      : keysetLinks(service, dataSource, plan, cursor, request, inOrder, hasMore)
  return numbered === undefined ? links : { ...links, next: numbered }
}

function countedLinks({ page }: ListRequest, hasMore: boolean): Links {
  return {
    next: hasMore ? { page: page + 1, after: undefined } : undefined,
    previous: page > 1 ? { page: page - 1, after: undefined } : undefined,
  }
}

/** One row more tells of a next page; read backwards, of a previous one. */
function keysetLinks(
  service: Service,
  dataSource: DataSource,
  plan: ListQuery,
  cursor: KeysetCursor,
  { page }: ListRequest,
  rows: readonly RawRow[],
  hasMore: boolean,
): Links {
  const { direction, values, skip } = cursor
  const isBackwards = direction === 'before'
  const hasStart = values !== undefined || skip > 0
  /** Where no token names the row, the way is counted from where this page was counted from. */
  const skipped = { direction, values, skip: plan.offset + rows.length }
  const linkTo = (to: Cursor['direction'], row: RawRow | undefined): PageLink => {
    const token = tokenOf(service, dataSource, plan, cursor.order, to, row)
    const counted = to === direction ? service.cursorTokens.write(skipped, cursor.order) : undefined
    return { page: to === 'after' ? page + 1 : Math.max(page - 1, 1), after: token ?? counted }
  }
  const hasNext = isBackwards ? hasStart : hasMore
  const hasPrevious = isBackwards ? hasMore : hasStart || page > 1
  return {
    next: hasNext ? linkTo('after', rows.at(-1)) : undefined,
    previous: hasPrevious ? linkTo('before', rows[0]) : undefined,
  }
}

/**
 * The token of the page after or before a row, or, without one, of the whole order.
 * @returns undefined where JSON cannot say where the row stands, or no link holds it: texts that are sorted by may have any length
 */
function tokenOf(
  { cursorTokens, limits }: Service,
  dataSource: DataSource,
  plan: ListQuery,
  order: string,
  direction: Cursor['direction'],
  row: RawRow | undefined,
): string | undefined {
  const values = row && cursorValuesOf(dataSource, plan, row)
  if (row !== undefined && values === undefined) return undefined
  const token = cursorTokens.write({ direction, values, skip: 0 }, order)
  return token.length <= limits.parameterValue ? token : undefined
}
