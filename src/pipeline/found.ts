import type { Principal } from '../access/rule'
import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { ApiError } from '../errors'
import { itemQuery, parseKey } from '../query/list-query'
import { requireOwner } from '../query/owner'
import type { Query, WriteTarget } from '../query/query'
import { preconditionFailed, renderStored, requireIfMatchHolds } from '../read/entity-tag'
import { bytesOf, type ValueLimit } from '../read/measure'
import { fieldValue, type Row, rowReaderOf } from '../read/row'
import { readRawItem } from '../read/select'
import { isCausedByQueryValue } from '../read/unreadable'
import { holdsIfNoneMatch } from '../request/preconditions'
import type { ResourceRequest } from './service'

/**
 * Reads the record of an item path, as a row of the driver.
 * @param valueLimit maximum size of the values to read
 * @throws {ApiError} `not-found`
 */
export async function requireRow(
  request: ResourceRequest,
  session: DbSession,
  select?: Query['select'],
  valueLimit?: ValueLimit,
): Promise<{ key: unknown; raw: RawRow }> {
  const { resource, segment = '' } = request
  const key = parseKey(resource, segment)
  if (key === undefined) throw notFound(request)
  try {
    const raw = await readRawItem(session, resource, key, select, { valueLimit })
    if (raw !== undefined) return { raw, key }
  } catch (error) {
    // There is no record with an id that the database cannot read.
    if (!(await isCausedByQueryValue(error, session, itemQuery(resource, key)))) throw error
  }
  throw notFound(request)
}

/**
 * Reads the record that a write changes, and checks its owner and the preconditions. Memory for a response with the
 * whole record is reserved here, because the response must be sent once the write is done.
 * @throws {ApiError} `not-found`, `not-owner`, `precondition-failed`, `precondition-required`, `unavailable`
 */
export async function requireWriteTarget(
  request: ResourceRequest,
  principal: Principal,
  select: Query['select'] = 'columns',
): Promise<{ raw: RawRow; row: Row; target: WriteTarget }> {
  const { resource, headers, session } = request
  const { raw, key } = await requireRow(request, session, select)
  const row = rowReaderOf(resource[select], session.dataSource)(raw)
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
  requireIfMatchHolds(resource, row, target)
  if (ifNoneMatch !== undefined && !holdsIfNoneMatch(ifNoneMatch, renderStored(resource, row).tag)) {
    throw preconditionFailed(resource)
  }
  request.held().reserve(bytesOf(raw))
  return { raw, row, target }
}

export function notFound({ resource }: ResourceRequest): ApiError {
  return new ApiError('not-found', `there is no ${resource.name} with this id`)
}
