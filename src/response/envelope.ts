import type { ListRequest } from '../request/list-request'
import type { Resource } from '../schema/registry'

/**
 * The answer to a list request, as JSON (spec.md, Collection envelope).
 * @param records their JSON; one more than the page holds, where there is a next page (D21)
 */
export function renderEnvelope(
  { name: model }: Resource,
  { page, limit, others }: ListRequest,
  records: readonly string[],
  collection: string,
): string {
  const link = (target: number): string =>
    `${collection}?${others === '' ? '' : `${others}&`}limit=${limit}&page=${target}`
  const meta = {
    model,
    page,
    /** Empty on the last. */
    next: records.length > limit ? link(page + 1) : '',
    /** Empty on the first. */
    previous: page > 1 ? link(page - 1) : '',
  }
  return `{"meta":${JSON.stringify(meta)},"objects":[${records.slice(0, limit).join(',')}]}`
}
