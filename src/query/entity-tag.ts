import { createHash } from 'node:crypto'
import { ApiError } from '../errors'
import type { Target } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import { holdsIfMatch } from '../request/preconditions'
import type { Resource } from '../schema/registry'
import type { Transaction } from './connection'
import { fieldValue, hydrate, type Row } from './row'
import { lockRows } from './select'

/**
 * The strong validator of a record as it is stored (RFC 9110, ETag): its version, where it shows one, else a digest of what it
 * shows. What is hidden has no part in it, so that nobody can tell from it that it has changed, or what it is.
 */
export function entityTag(resource: Resource, row: Row): string {
  const { record } = resource
  const version = record.find(({ columns }) => columns.some(({ column }) => column.isVersion))
  if (version !== undefined) return `"v${String(fieldValue(resource, row, version))}"`
  const values = record.map((field) => {
    const value = fieldValue(resource, row, field)
    // A date-time has more than is shown of it.
    return value === null ? null : [field.kind.toJson(value), value instanceof Date ? value.getTime() : null]
  })
  return `"${createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 22)}"`
}

/**
 * Checks `If-Match` where nobody can change the record any more before it is written.
 * @throws {ApiError} `precondition-failed`
 */
export async function requireState(session: Transaction, resource: Resource, target: Target): Promise<void> {
  const { row } = resource
  const [raw] = await lockRows(session, planItem(resource, target.key, row))
  // The write itself will find that there is none.
  if (raw === undefined || holdsIfMatch(target.ifMatch, entityTag(resource, hydrate(session.dataSource, row, raw))))
    return
  throw preconditionFailed(resource)
}

/** The refusal of a request on a record that is not what the client believes. */
export function preconditionFailed({ name }: Resource): ApiError {
  return new ApiError('precondition-failed', `this ${name} is not as If-Match or If-None-Match says; read it again`)
}
