import type { JsonRecord } from '../read/record'
import type { ListRequest } from '../request/list-request'
import type { Resource } from '../schema/resource-view'

/** Page of a list: its records, and the links to the pages before and after it. */
export interface ListPage {
  /** Text, if rendering took long: the members of a JSON array, separated by commas. */
  readonly records: readonly JsonRecord[] | string
  readonly next: PageLink | undefined
  readonly previous: PageLink | undefined
  /** Undefined if the request has no `count`. */
  readonly total: Total | undefined
}

/** Number of records of all pages, as members of `meta`. */
export interface Total {
  readonly total: number
  /** With `count=capped`: whether there are more records than were counted. */
  readonly total_capped?: boolean
}

/** Parameters of a link to another page. */
export interface PageLink {
  readonly page: number
  /** Token of keyset paging; undefined for a page by number. */
  readonly after: string | undefined
  /** `limit` of the linked page, if it differs from that of the request. */
  readonly limit?: number
}

/**
 * Renders the response to a list request as JSON (specification: Collection envelope).
 * @param collection path of the collection: `/api/note/`
 */
export function renderEnvelope(
  { name: model }: Resource,
  { page, limit, repeated }: ListRequest,
  { records, next, previous, total }: ListPage,
  collection: string,
): string {
  const base = `${collection}?${repeated === '' ? '' : `${repeated}&`}`
  const renderLink = (link: PageLink | undefined): string => {
    if (link === undefined) return ''
    const after = link.after === undefined ? '' : `&after=${link.after}`
    return `${base}limit=${link.limit ?? limit}&page=${link.page}${after}`
  }
  const meta = { model, page, next: renderLink(next), previous: renderLink(previous), ...total }
  if (typeof records === 'string') return `{"meta":${JSON.stringify(meta)},"objects":[${records}]}`
  return JSON.stringify({ meta, objects: records })
}
