import type { RawRow } from '../connection/statement'
import type { KeysetCursor, ListQuery } from '../query/query'
import { cursorValuesOf } from '../read/keyset'
import type { Cursor } from '../request/cursor'
import { type ListRequest, maxInteger } from '../request/list-request'
import type { ListPage, PageLink } from '../response/envelope'
import type { PageRows } from './limited-read'
import type { PageReading } from './page-reading'

/** List query with keyset paging. */
type KeysetQuery = ListQuery & { readonly cursor: KeysetCursor }

type Links = Pick<ListPage, 'next' | 'previous'>

/** Rows of a page, reduced so that a link to the next page can start exactly after them. */
export interface LinkedRows extends PageRows {
  /**
   * Link by page number to the page after these rows, with a smaller `limit`. Undefined for a page that has all rows
   * that were requested, and for keyset paging.
   */
  readonly nextByNumber?: PageLink
}

/**
 * Reduces a page that a size limit has ended early, if its links have page numbers. Such a link can only start at a
 * multiple of its `limit`, so the page keeps as many rows as allow this.
 */
export function toLinkableRows(page: PageRows): LinkedRows {
  const { query, rows } = page
  if (query.cursor !== undefined) return page
  const limit = alignedPageLength(query.offset, rows.length)
  return {
    ...page,
    rows: rows.slice(0, limit),
    nextByNumber: { page: query.offset / limit + 2, after: undefined, limit },
  }
}

/** Largest page size, up to `maxLength`, of which the offset is a multiple. */
function alignedPageLength(offset: number, maxLength: number): number {
  for (let length = maxLength; length > 1; length--) if (offset % length === 0) return length
  return 1
}

/** @param inOrder the rows in the order of the request; a page before a cursor is read in reverse order */
export function linksOf(
  reading: PageReading,
  request: ListRequest,
  { query, hasMore, nextByNumber }: LinkedRows,
  inOrder: readonly RawRow[],
): Links {
  const links = hasCursor(query)
    ? keysetLinks(reading, request, query, inOrder, hasMore)
    : numberLinks(request, hasMore)
  return nextByNumber === undefined ? links : { ...links, next: nextByNumber }
}

const hasCursor = (query: ListQuery): query is KeysetQuery => query.cursor !== undefined

/** Links by page number. */
export function numberLinks({ page }: ListRequest, hasMore: boolean): Links {
  return {
    next: hasMore ? { page: page + 1, after: undefined } : undefined,
    previous: page > 1 ? { page: page - 1, after: undefined } : undefined,
  }
}

/** @param hasMore whether there are rows after the page; in reverse order, before it */
function keysetLinks(
  reading: PageReading,
  { page }: ListRequest,
  query: KeysetQuery,
  rows: readonly RawRow[],
  hasMore: boolean,
): Links {
  const { direction, values, skip, orderingId } = query.cursor
  const isBackwards = direction === 'before'
  const hasPosition = values !== undefined || skip > 0
  // If no token can hold the position of a row, the link skips rows from the position that this page started at.
  const skipping = { direction, values, skip: query.offset + rows.length }
  const linkTo = (to: Cursor['direction'], row: RawRow | undefined): PageLink => {
    const token = tokenOf(reading, query, to, row)
    const skippingToken = to === direction ? reading.cursorTokens.write(skipping, orderingId) : undefined
    return {
      page: to === 'after' ? Math.min(page + 1, maxInteger) : Math.max(page - 1, 1),
      after: token ?? skippingToken,
    }
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
  { store, cursorTokens, limits }: PageReading,
  query: KeysetQuery,
  direction: Cursor['direction'],
  row: RawRow | undefined,
): string | undefined {
  // A token is longer than the values in it.
  const values = row && cursorValuesOf(store, query, row, limits.parameterValue)
  if (row !== undefined && values === undefined) return undefined
  const token = cursorTokens.write({ direction, values, skip: 0 }, query.cursor.orderingId)
  return token.length <= limits.parameterValue ? token : undefined
}
