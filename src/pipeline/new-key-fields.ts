import { type ConflictFields, fieldsOf } from '../query/conflict-fields'
import type { PermittedRequest } from './service'

/**
 * The fields of the key in the path of a request that creates a record: a PUT with `If-None-Match: *` on a resource whose key
 * is not generated (specification: Upserts).
 * @returns undefined for a request that creates no record
 */
export function newKeyFieldsOf({ method, headers, store }: PermittedRequest): ConflictFields | undefined {
  if (method !== 'PUT' || headers['if-none-match']?.trim() !== '*') return undefined
  const fields = fieldsOf(store.view, store.view.metadata.primaryColumns)
  return fields?.every(({ insertable }) => insertable) ? fields : undefined
}
