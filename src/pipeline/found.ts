import type { Principal } from '../access/rule'
import { ApiError } from '../errors'
import type { SelectPlan, Target } from '../plan/plan'
import { parseKey } from '../plan/select-plan'
import { requireOwner } from '../plan/target'
import type { Session } from '../query/connection'
import { isUnreadable } from '../query/dialect-of'
import { entityTag, preconditionFailed, requireState } from '../query/entity-tag'
import { fieldValue, type Row } from '../query/row'
import { readItem } from '../query/select'
import { holdsIfNoneMatch } from '../request/preconditions'
import type { ResourceRequest } from './service'

/** The record that a path names. @throws {ApiError} `not-found` */
export async function requireRow(
  request: ResourceRequest,
  session: Session,
  columns?: SelectPlan['columns'],
): Promise<{ key: unknown; row: Row }> {
  const { resource, segment = '' } = request
  const key = parseKey(resource, segment)
  if (key === undefined) throw notFound(request)
  const row = await readItem(session, resource, key, columns).catch((error: unknown) => {
    // An id that the database cannot read is that of no record.
    if (isUnreadable(error, session.dataSource, resource)) return undefined
    throw error
  })
  if (row === undefined) throw notFound(request)
  return { row, key }
}

/** The record that a write is about. @throws {ApiError} `not-found`, `not-owner`, `precondition-failed`, `precondition-required` */
export async function requireTarget(
  request: ResourceRequest,
  principal: Principal,
  columns?: SelectPlan['columns'],
): Promise<{ row: Row; target: Target }> {
  const { resource, headers, session } = request
  const { row, key } = await requireRow(request, session, columns)
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  const owner = resource.owner === undefined ? undefined : fieldValue(resource, row, resource.owner)
  const target = { key, owner, ifMatch }
  requireOwner(resource, target, principal)
  if (resource.requireIfMatch && ifMatch === undefined) {
    throw new ApiError(
      'precondition-required',
      `send If-Match with the ETag of the ${resource.name} that you have read`,
    )
  }
  requireState(resource, row, target)
  if (ifNoneMatch !== undefined && !holdsIfNoneMatch(ifNoneMatch, entityTag(resource, row))) {
    throw preconditionFailed(resource)
  }
  return { row, target }
}

export function notFound({ resource }: ResourceRequest): ApiError {
  return new ApiError('not-found', `there is no ${resource.name} of this id`)
}
