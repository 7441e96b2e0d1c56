import { hash } from 'node:crypto'
import { ApiError } from '../errors'
import type { Target } from '../plan/plan'
import { holdsIfMatch } from '../request/preconditions'
import type { Resource } from '../schema/registry'
import { fieldValue, type Row } from './row'

/**
 * The strong validator of a record as it is stored (RFC 9110, ETag): a digest of what it shows, its version with it. What is
 * hidden has no part in it, so that nobody can tell from it that it has changed, or what it is.
 */
export function entityTag(resource: Resource, row: Row): string {
  const values = resource.record.map((field) => {
    const value = fieldValue(resource, row, field)
    // A date-time has more than is shown of it.
    return value === null ? null : [field.kind.toJson(value), value instanceof Date ? value.getTime() : null]
  })
  return `"${hash('sha256', JSON.stringify(values), 'base64url').slice(0, 22)}"`
}

/**
 * Checks `If-Match` for a record that nobody else can change before it is written.
 * @throws {ApiError} `precondition-failed`
 */
export function requireState(resource: Resource, row: Row, { ifMatch }: Target): void {
  if (ifMatch !== undefined && !holdsIfMatch(ifMatch, entityTag(resource, row))) throw preconditionFailed(resource)
}

/** The refusal of a request on a record that is not what the client believes. */
export function preconditionFailed({ name }: Resource): ApiError {
  return new ApiError('precondition-failed', `this ${name} is not as If-Match or If-None-Match says; read it again`)
}
