import type { Row } from '../query/row'
import type { ListRequest } from '../request/list-request'
import type { Resource } from '../schema/registry'
import type { Json } from '../value/kind'
import { renderRecord } from './record'

/** The answer to a list request (spec.md, Collection envelope). */
export interface Envelope {
  readonly meta: {
    readonly model: string
    readonly page: number
    /** Path of the next page, empty on the last. */
    readonly next: string
    /** Path of the page before, empty on the first. */
    readonly previous: string
  }
  readonly objects: readonly Readonly<Record<string, Json>>[]
}

/** @param rows one more than the page holds, where there is a next page (D21) */
export function renderEnvelope(
  resource: Resource,
  request: ListRequest,
  rows: readonly Row[],
  collection: string,
): Envelope {
  const { page, limit, others } = request
  const link = (target: number): string =>
    `${collection}?${others === '' ? '' : `${others}&`}limit=${limit}&page=${target}`
  return {
    meta: {
      model: resource.name,
      page,
      next: rows.length > limit ? link(page + 1) : '',
      previous: page > 1 ? link(page - 1) : '',
    },
    objects: rows.slice(0, limit).map((row) => renderRecord(resource, row)),
  }
}
