import { hash } from 'node:crypto'
import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import { ApiError } from '../errors'
import type { WriteTarget } from '../query/query'
import { holdsIfMatch } from '../request/preconditions'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import { storedValueReader } from './json-value'
import { rawRecordRenderer, recordRenderer } from './record'
import { fieldValue, type Row } from './row'

/** JSON of a stored record, and its strong validator (RFC 9110, ETag). */
export interface StoredRecord {
  readonly json: string
  readonly tag: string
}

/** Renders a row of values, as entities hold them, and computes its ETag. */
export function renderStored(resource: Resource, row: Row): StoredRecord {
  const json = JSON.stringify(recordRenderer(resource)(row))
  return {
    json,
    tag: tagOf(
      json,
      fieldsWithHiddenPrecision(resource).map((field) => fieldValue(resource, row, field)),
    ),
  }
}

/** Same as {@link renderStored}, for a raw row of the driver. */
export function renderStoredRaw(resource: Resource, dataSource: DataSource, raw: RawRow): StoredRecord {
  const json = JSON.stringify(rawRecordRenderer(resource, dataSource)(raw))
  return {
    json,
    tag: tagOf(
      json,
      hiddenPrecisionReaders(resource, dataSource).map((read) => read(raw)),
    ),
  }
}

/**
 * Computes an ETag from the JSON of a record. Hidden fields are not included: otherwise clients could find out that a
 * hidden value has changed, or guess the value.
 * @param exactValues values of shown fields that are stored with more digits than the JSON has
 */
function tagOf(json: string, exactValues: readonly unknown[]): string {
  let text = json
  for (const value of exactValues) if (value instanceof Date) text += ` ${value.getTime()}`
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** Shown fields whose stored value may have more digits than the JSON, such as the fraction of a date-time. */
const fieldsWithHiddenPrecision = memoize(({ outputFields }: Resource): readonly Field[] =>
  outputFields.filter(
    ({ valueType, columns }) =>
      valueType.upperBound !== undefined || columns.some(({ valueColumn }) => valueColumn.transformer),
  ),
)

/** Readers of {@link fieldsWithHiddenPrecision} for raw rows of the driver. */
const hiddenPrecisionReaders = memoize((resource: Resource, dataSource: DataSource) =>
  fieldsWithHiddenPrecision(resource).map((field) => storedValueReader(field, resource, dataSource)),
)

/**
 * Compares `If-Match` with the ETag of a row. The row must be locked until the write.
 * @throws {ApiError} `precondition-failed`
 */
export function requireIfMatchHolds(resource: Resource, row: Row, { ifMatch }: WriteTarget): void {
  if (ifMatch !== undefined && !holdsIfMatch(ifMatch, renderStored(resource, row).tag))
    throw preconditionFailed(resource)
}

/** Error for a record whose ETag does not match the precondition of the request. */
export function preconditionFailed({ name }: Resource): ApiError {
  return new ApiError('precondition-failed', `this ${name} does not match If-Match or If-None-Match; read it again`)
}
