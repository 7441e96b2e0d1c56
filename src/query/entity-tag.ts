import { hash } from 'node:crypto'
import { ApiError } from '../errors'
import type { Target } from '../plan/plan'
import { holdsIfMatch } from '../request/preconditions'
import type { Field } from '../schema/field'
import { onceFor } from '../schema/once-for'
import type { Resource } from '../schema/registry'
import { recordOfRow } from './record'
import { fieldValue, type Row } from './row'

/**
 * The strong validator of a record as it is stored (RFC 9110, ETag): a digest of what it shows, its version with it. What is
 * hidden has no part in it, so that nobody can tell from it that it has changed, or what it is.
 * @param record the row's JSON
 */
export function entityTag(resource: Resource, row: Row, record = recordOfRow(resource)(row)): string {
  let text = record
  for (const field of finerFields(resource)) {
    const value = fieldValue(resource, row, field)
    if (value instanceof Date) text += ` ${value.getTime()}`
  }
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** Date-times have more than is shown of them. */
const finerFields = onceFor(({ record }: Resource): readonly Field[] =>
  record.filter(
    ({ kind, columns }) => kind.end !== undefined || columns.some(({ valueColumn }) => valueColumn.transformer),
  ),
)

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
