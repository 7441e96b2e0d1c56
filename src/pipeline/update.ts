import type { Principal } from '../access/rule'
import { FieldErrors } from '../errors'
import { parseUpdate, type ShownValue } from '../query/change-set'
import { parseKey } from '../query/list-query'
import { ownerKey } from '../query/owner'
import type { WriteTarget } from '../query/query'
import { afterLoad } from '../read/after-load'
import { renderStored } from '../read/entity-tag'
import { renderField } from '../read/record'
import type { Row } from '../read/row'
import type { Body } from '../request/body'
import type { Resource } from '../schema/registry'
import { requireReferences } from '../write/references'
import { fieldsWithoutRead, updateWithoutRead } from '../write/update-without-read'
import { validateChanges } from '../write/validate'
import { renderAfterLoad, updateRow } from '../write/write'
import type { WrittenRecord } from '../write/writer'
import { requireWriteTarget } from './found'
import { hashPasswords } from './hash-passwords'
import type { ResourceRequest, Service } from './service'

/**
 * Maximum size of a record that is updated without being read first, in bytes. A larger record is read first, to
 * reserve memory for the response.
 */
const maxUnreadBytes = 64 * 1024

/**
 * Updates a record with one statement, without reading it first, if all fields of the body allow this and all values
 * are valid.
 * @returns undefined if nothing was updated: then {@link readAndUpdate} updates the record, or throws the refusal
 */
export async function updateInOneStatement(
  request: ResourceRequest,
  principal: Principal,
  body: Body,
): Promise<WrittenRecord | undefined> {
  const { resource, session, headers } = request
  const allowedNames = fieldsWithoutRead(resource, session.dataSource)
  const isConditional = headers['if-match'] !== undefined || headers['if-none-match'] !== undefined
  if (isConditional || body.size === 0 || ![...body.keys()].every((name) => allowedNames.has(name))) return undefined
  const target = targetOf(request, principal)
  if (target === undefined) return undefined
  const errors = new FieldErrors()
  const changes = parseUpdate(resource, body, () => undefined, errors)
  return errors.isEmpty ? updateWithoutRead(session, resource, target, changes) : undefined
}

/** Target of an update without a read, with the principal as its owner; undefined if there cannot be one. */
function targetOf({ resource, segment = '' }: ResourceRequest, principal: Principal): WriteTarget | undefined {
  const key = parseKey(resource, segment)
  if (key === undefined) return undefined
  try {
    return { key, owner: ownerKey(resource, principal), ifMatch: undefined, maxBytes: maxUnreadBytes }
  } catch {
    // The id of the principal is not a key of a user. `readAndUpdate` reports this mistake of the application, but only
    // if the record exists.
    return undefined
  }
}

/**
 * Reads a record, and updates the fields whose values differ.
 * @returns undefined if the record was deleted in the meantime
 * @throws {ApiError} for every refusal
 */
export async function readAndUpdate(
  service: Service,
  request: ResourceRequest,
  principal: Principal,
  body: Body,
): Promise<WrittenRecord | undefined> {
  const { resource, session } = request
  const found = await requireWriteTarget(request, principal, 'entityColumns')
  const [row = found.row] = await afterLoad(session, resource, [found.row])
  const errors = new FieldErrors()
  const changes = parseUpdate(resource, body, shownIn(resource, row), errors)
  await validateChanges(resource, row, changes, errors)
  await requireReferences(session, resource, { changes, stored: row }, errors)
  if (changes.size === 0) {
    return renderAfterLoad(resource, { raw: found.raw, ...renderStored(resource, found.row) }, row)
  }
  return updateRow(session, resource, found.target, await hashPasswords(service, request, principal, changes), row)
}

/** Values that a record shows; undefined for hidden fields. */
function shownIn(resource: Resource, row: Row): ShownValue {
  return (field) => (resource.outputFields.includes(field) ? renderField(resource, row, field) : undefined)
}
