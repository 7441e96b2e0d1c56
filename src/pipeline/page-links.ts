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

/** Rows of a page, reduced so that a link to the next page can start exactly after them. */
export interface LinkedRows extends PageRows {
  /**
   * Link by number to the page after these rows, with a smaller `limit`. Undefined for a page that did not end early,
   * and for a page by keyset.
   */
  readonly numbered?: PageLink
}

/**
 * Reduces a page that the limit of bytes has ended early. A link by number can only start at a multiple of its `limit`,
 * so without a token the page keeps as many rows as allow this.
 */
export function toLinkableRows(page: PageRows): LinkedRows {
  const { query, rows } = page
  if (query.cursor !== undefined) return page
  const limit = pageLength(query.offset, rows.length)
  return { ...page, rows: rows.slice(0, limit), numbered: { page: query.offset / limit + 2, after: undefined, limit } }
}

/** Largest page size, up to `maxLength`, that divides the offset. */
function pageLength(offset: number, maxLength: number): number {
  for (let length = maxLength; length > 1; length--) if (offset % length === 0) return length
  return 1
}

/** @param inOrder the rows in the order of the request; a page before a cursor is read in reverse order */
export function linksOf(
  service: Service,
  { dataSource }: DbSession,
  request: ListRequest,
  { query, hasMore, numbered }: LinkedRows,
  inOrder: readonly RawRow[],
): Links {
  const { cursor } = query
  const links =
    cursor === undefined
      ? numberLinks(request, hasMore)
      : keysetLinks(service, dataSource, query, cursor, request, inOrder, hasMore)
  return numbered === undefined ? links : { ...links, next: numbered }
}

function numberLinks({ page }: ListRequest, hasMore: boolean): Links {
  return {
    next: hasMore ? { page: page + 1, after: undefined } : undefined,
    previous: page > 1 ? { page: page - 1, after: undefined } : undefined,
  }
}

/** @param hasMore whether there are rows after the page; in reverse order, before it */
function keysetLinks(
  service: Service,
  dataSource: DataSource,
  query: ListQuery,
  cursor: KeysetCursor,
  { page }: ListRequest,
  rows: readonly RawRow[],
  hasMore: boolean,
): Links {
  const { direction, values, skip } = cursor
  const isBackwards = direction === 'before'
  const hasPosition = values !== undefined || skip > 0
  // If no token can hold the position of a row, the link skips rows from the position that this page started at.
  const skipping = { direction, values, skip: query.offset + rows.length }
  const linkTo = (to: Cursor['direction'], row: RawRow | undefined): PageLink => {
    const token = tokenOf(service, dataSource, query, cursor.order, to, row)
    const skippingToken = to === direction ? service.cursorTokens.write(skipping, cursor.order) : undefined
    return { page: to === 'after' ? page + 1 : Math.max(page - 1, 1), after: token ?? skippingToken }
  }
  const hasNext = isBackwards ? hasPosition : hasMore
  const hasPrevious = isBackwards ? hasMore : hasPosition || page > 1
  return {
    next: hasNext ? linkTo('after', rows.at(-1)) : undefined,
    previous: hasPrevious ? linkTo('before', rows[0]) : undefined,
  }
}

/**
 * Token of the page after or before a row.
 * @param row undefined for the first or last page of the whole order
 * @returns undefined if JSON cannot represent the position of the row, or if the token is longer than a parameter may
 * be: text in sort columns can have any length
 */
function tokenOf(
  { cursorTokens, limits }: Service,
  dataSource: DataSource,
  query: ListQuery,
  order: string,
  direction: Cursor['direction'],
  row: RawRow | undefined,
): string | undefined {
  const values = row && cursorValuesOf(dataSource, query, row)
  if (row !== undefined && values === undefined) return undefined
  const token = cursorTokens.write({ direction, values, skip: 0 }, order)
  return token.length <= limits.parameterValue ? token : undefined
}
