import type { JsonRecord } from '../read/record'
import type { ListRequest } from '../request/list-request'
import type { Resource } from '../schema/registry'

/** A page's records, and what leads on from it. */
export interface ListPage {
  readonly records: readonly JsonRecord[]
  readonly next: PageLink | undefined
  readonly previous: PageLink | undefined
  /** Undefined where the request does not count. */
  readonly total: Total | undefined
}

/** How many records all pages have, as members of `meta`. */
export interface Total {
  readonly total: number
  /** Whether there are more, with `count=capped`. */
  readonly total_capped?: boolean
}

/** Where a link leads. */
export interface PageLink {
  readonly page: number
  /** The token of keyset paging; undefined where the page is found by its number. */
  readonly after: string | undefined
  /** Records a page has at most from there on, where it is not what was asked for. */
  readonly limit?: number
}

/** The answer to a list request, as JSON (specification: Collection envelope). */
export function renderEnvelope(
  { name: model }: Resource,
  { page, limit, others }: ListRequest,
  { records, next, previous, total }: ListPage,
  collection: string,
): string {
  const start = `${collection}?${others === '' ? '' : `${others}&`}`
  // Empty where there is no such page.
  const link = (to: PageLink | undefined): string => {
    if (to === undefined) return ''
    return `${start}limit=${to.limit ?? limit}&page=${to.page}${to.after === undefined ? '' : `&after=${to.after}`}`
  }
  const meta = { model, page, next: link(next), previous: link(previous), ...total }
  return JSON.stringify({ meta, objects: records })
}
