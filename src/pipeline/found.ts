import type { Principal } from '../access/rule'
import { ApiError } from '../errors'
import type { SelectPlan, Target } from '../plan/plan'
import { parseKey, planItem } from '../plan/select-plan'
import { requireOwner } from '../plan/target'
import { isUnreadable } from '../query/dialect-of'
import { entityTag, preconditionFailed } from '../query/entity-tag'
import { fieldValue, type Row } from '../query/row'
import { readRows } from '../query/select'
import { holdsIfMatch, holdsIfNoneMatch } from '../request/preconditions'
import type { ResourceRequest } from './service'

/** The record that a path names. @throws {ApiError} `not-found` */
export async function requireRow(
  request: ResourceRequest,
  columns?: SelectPlan['columns'],
): Promise<{ key: unknown; row: Row; tag: string }> {
  const { resource, session, segment = '' } = request
  const key = parseKey(resource, segment)
  if (key === undefined) throw notFound(request)
  const [row] = await readRows(session, planItem(resource, key, columns)).catch((error: unknown) => {
    // An id that the database cannot read is that of no record.
    if (isUnreadable(error, session.dataSource, resource)) return []
    throw error
  })
  if (row === undefined) throw notFound(request)
  return { row, key, tag: entityTag(resource, row) }
}

/** The record that a write is about. @throws {ApiError} `not-found`, `not-owner`, `precondition-failed`, `precondition-required` */
export async function requireTarget(
  request: ResourceRequest,
  principal: Principal,
  columns?: SelectPlan['columns'],
): Promise<{ row: Row; target: Target }> {
  const { resource, headers } = request
  const { row, tag, key } = await requireRow(request, columns)
  const ifMatch = headers['if-match']
  const owner = resource.owner === undefined ? undefined : fieldValue(resource, row, resource.owner)
  const target = { key, owner, ifMatch }
  requireOwner(resource, target, principal)
  if (resource.requireIfMatch && ifMatch === undefined) {
    throw new ApiError(
      'precondition-required',
      `send If-Match with the ETag of the ${resource.name} that you have read`,
    )
  }
  if (!holdsIfMatch(ifMatch, tag) || !holdsIfNoneMatch(headers['if-none-match'], tag))
    throw preconditionFailed(resource)
  return { row, target }
}

export function notFound({ resource }: ResourceRequest): ApiError {
  return new ApiError('not-found', `there is no ${resource.name} of this id`)
}
