import type { Principal } from '../access/rule'
import { FieldErrors } from '../errors'
import { planUpdate, type ShownValue } from '../query/change-set'
import { parseKey } from '../query/list-query'
import { ownerKey } from '../query/owner'
import type { WriteTarget } from '../query/query'
import { afterLoad } from '../read/after-load'
import { recordStored } from '../read/entity-tag'
import { renderField } from '../read/record'
import type { Row } from '../read/row'
import type { Body } from '../request/body'
import type { Resource } from '../schema/registry'
import { requireReferences } from '../write/references'
import { fieldsWithoutRead, updateWithoutRead } from '../write/update-without-read'
import { validateChanges } from '../write/validate'
import { type Saved, updateRow } from '../write/write'
import { requireTarget } from './found'
import { hashPasswords } from './hash-passwords'
import type { ResourceRequest, Service } from './service'

/** Bytes of a record that is updated without being read first. Of a longer one memory is reserved before, for the response. */
const maxUnreadBytes = 64 * 1024

/**
 * Changes a record by one statement, where nothing of it need be known before and everything that is sent can be stored.
 * @returns undefined where nothing was done: {@link updateFound} does it, or says why it cannot be
 */
export async function updateAtOnce(
  request: ResourceRequest,
  principal: Principal,
  body: Body,
): Promise<Saved | undefined> {
  const { resource, session, headers } = request
  const names = fieldsWithoutRead(resource, session.dataSource)
  const isConditional = headers['if-match'] !== undefined || headers['if-none-match'] !== undefined
  if (isConditional || body.size === 0 || ![...body.keys()].every((name) => names.has(name))) return undefined
  const target = targetOf(request, principal)
  if (target === undefined) return undefined
  const errors = new FieldErrors()
  const changes = planUpdate(resource, body, () => undefined, errors)
  return errors.isEmpty ? updateWithoutRead(session, resource, target, changes) : undefined
}

/** The record of a path, if it is the principal's; undefined for none. */
function targetOf({ resource, segment = '' }: ResourceRequest, principal: Principal): WriteTarget | undefined {
  const key = parseKey(resource, segment)
  if (key === undefined) return undefined
  try {
    return { key, owner: ownerKey(resource, principal), ifMatch: undefined, maxBytes: maxUnreadBytes }
  } catch {
    // An id that is no user's: a mistake of the application's, but not before there is a record to compare it with.
    return undefined
  }
}

/**
 * Reads a record, and changes what is not so already.
 * @returns undefined when it is gone in the meantime
 * @throws {ApiError} for every refusal
 */
export async function updateFound(
  service: Service,
  request: ResourceRequest,
  principal: Principal,
  body: Body,
): Promise<Saved | undefined> {
  const { resource, session } = request
  const found = await requireTarget(request, principal, 'entityColumns')
  const [row = found.row] = await afterLoad(session, resource, [found.row])
  const errors = new FieldErrors()
  const changes = planUpdate(resource, body, shownIn(resource, row), errors)
  await validateChanges(resource, row, changes, errors)
  await requireReferences(session, resource, { changes, stored: row }, errors)
  if (changes.size === 0) return { raw: found.raw, ...recordStored(resource, found.row), shown: row }
  return updateRow(session, resource, found.target, await hashPasswords(service, request, principal, changes), row)
}

/** What the client sees of a record: nothing of a hidden field. */
function shownIn(resource: Resource, row: Row): ShownValue {
  return (field) => (resource.outputFields.includes(field) ? renderField(resource, row, field) : undefined)
}
