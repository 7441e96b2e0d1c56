import type { JsonRecord } from '../query/record'
import type { ListRequest } from '../request/list-request'
import type { Resource } from '../schema/registry'

/** A page's records, and what leads on from it. */
export interface Page {
  readonly records: readonly JsonRecord[]
  readonly next: PageLink | undefined
  readonly previous: PageLink | undefined
}

/** Where a link leads. */
export interface PageLink {
  readonly page: number
  /** The token of keyset paging; undefined where the page is found by its number. */
  readonly after: string | undefined
}

/** The answer to a list request, as JSON (spec.md, Collection envelope). */
export function renderEnvelope(
  { name: model }: Resource,
  { page, limit, others }: ListRequest,
  { records, next, previous }: Page,
  collection: string,
): string {
  const start = `${collection}?${others === '' ? '' : `${others}&`}limit=${limit}`
  // Empty where there is no such page.
  const link = (to: PageLink | undefined): string => {
    if (to === undefined) return ''
    return `${start}&page=${to.page}${to.after === undefined ? '' : `&after=${to.after}`}`
  }
  const meta = { model, page, next: link(next), previous: link(previous) }
  return JSON.stringify({ meta, objects: records })
}
