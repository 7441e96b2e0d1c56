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
import { recordOfRaw, recordOfRow } from './record'
import { fieldValue, type Row } from './row'

/** A record as it is stored, and its strong validator (RFC 9110, ETag). */
export interface StoredRecord {
  readonly json: string
  readonly tag: string
}

export function recordStored(resource: Resource, row: Row): StoredRecord {
  const json = JSON.stringify(recordOfRow(resource)(row))
  return {
    json,
    tag: tagOf(
      json,
      finerFields(resource).map((field) => fieldValue(resource, row, field)),
    ),
  }
}

/** As {@link recordStored}, of a row as the driver hands it out. */
export function recordStoredRaw(resource: Resource, dataSource: DataSource, raw: RawRow): StoredRecord {
  const json = JSON.stringify(recordOfRaw(resource, dataSource)(raw))
  return {
    json,
    tag: tagOf(
      json,
      finerReaders(resource, dataSource).map((read) => read(raw)),
    ),
  }
}

/**
 * A digest of what a record shows, its version with it. What is hidden has no part in it, so that nobody can tell from it that it
 * has changed, or what it is.
 * @param finer values of which more is stored than shown
 */
function tagOf(json: string, finer: readonly unknown[]): string {
  let text = json
  for (const value of finer) if (value instanceof Date) text += ` ${value.getTime()}`
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** Date-times have more than is shown of them. */
const finerFields = memoize(({ outputFields }: Resource): readonly Field[] =>
  outputFields.filter(
    ({ valueType, columns }) =>
      valueType.upperBound !== undefined || columns.some(({ valueColumn }) => valueColumn.transformer),
  ),
)

/** They, of a row as the driver hands it out. */
const finerReaders = memoize((resource: Resource, dataSource: DataSource) =>
  finerFields(resource).map((field) => storedValueReader(field, resource, dataSource)),
)

/**
 * Checks `If-Match` for a record that nobody else can change before it is written.
 * @throws {ApiError} `precondition-failed`
 */
export function requireState(resource: Resource, row: Row, { ifMatch }: WriteTarget): void {
  if (ifMatch !== undefined && !holdsIfMatch(ifMatch, recordStored(resource, row).tag))
    throw preconditionFailed(resource)
}

/** The refusal of a request on a record that is not what the client believes. */
export function preconditionFailed({ name }: Resource): ApiError {
  return new ApiError('precondition-failed', `this ${name} is not as If-Match or If-None-Match says; read it again`)
}
