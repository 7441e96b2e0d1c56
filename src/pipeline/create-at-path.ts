import { isDeepStrictEqual } from 'node:util'
import { retryOnce } from '../connection/retry'
import { ApiError, type FieldErrors } from '../errors'
import { isEqualTo, parseGivenValues, parseValue } from '../query/change-set'
import type { ConflictFields } from '../query/conflict-fields'
import { parseKey } from '../query/item-query'
import { ownerKey } from '../query/owner'
import type { Presets } from '../query/presets'
import type { ChangeSet } from '../query/query'
import { joinColumnValues, splitColumnValues } from '../read/row'
import type { Body } from '../request/body'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { isSameValue } from '../value/value-type'
import type { WrittenRecord } from '../write/write-store'
import { createRecord, prepareCreation, requireCreatable, respondCreated } from './create'
import { prepareWriteIncludes } from './included-item'
import { ifNoneMatchFailed, notFound, nothingToMatch, requireWritable } from './item'
import { prepareBody } from './nested/nested-body'
import type { HandleBody, PermittedRequest, Service } from './service'
import { readBody } from './write-body'

/**
 * Creates the record of an item path.
 * @param fields the fields of the key
 * @throws {ApiError} for every refusal
 */
export async function createAtPath(
  service: Service,
  request: PermittedRequest,
  fields: ConflictFields,
): Promise<HandleBody> {
  const { store, session, segment = '', headers } = request
  const { view } = store
  await request.requireMethod('POST')
  const including = await prepareWriteIncludes(service, request)
  const key = parseKey(view, segment)
  if (key === undefined) throw notFound(request)
  return async () => {
    const body = await readBody(service, request)
    await refuseExisting(request)
    requireCreatable(request)
    // There is no record that could match it.
    if (headers['if-match'] !== undefined) throw nothingToMatch(view)
    const creation = prepareCreation(request)
    const parts = partsOf(view, fields, key)
    requirePermittedKey(request, parts, creation.presets)
    const nested = await prepareBody(service, request, withoutId(view, body, key), 'new')
    const createOnce = (): Promise<WrittenRecord> => {
      const errors = nested.newErrors()
      const given = keyValues(view, parts, body, errors)
      return createRecord(service, request, nested, creation, errors, given)
    }
    const saved = await retryOnce(session, createOnce).catch(async (error: unknown) => {
      // Another request may have created the record in the meantime.
      if (error instanceof ApiError && error.code === 'conflict') await refuseExisting(request)
      throw error
    })
    return respondCreated(request, saved, creation, including)
  }
}

/**
 * Refuses to create a record that exists and that the principal may see.
 * @throws {ApiError} `not-owner`, `forbidden`, `precondition-failed`
 */
async function refuseExisting(request: PermittedRequest): Promise<void> {
  try {
    await requireWritable(request, 'update')
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not-found') return
    throw error
  }
  throw ifNoneMatchFailed(request.store.view, request.headers['if-none-match'])
}

/** The values of a key by the fields that have them. */
function partsOf({ key }: ResourceView, fields: ConflictFields, value: unknown): ChangeSet {
  const parts = splitColumnValues(key, value)
  const partOf = ({ columns }: Field): unknown =>
    joinColumnValues(columns.map((column) => parts[key.columns.indexOf(column)]))
  return new Map(fields.map((field) => [field, partOf(field)]))
}

/**
 * Requires that the key in the path has the owner and the presets that every new record of the principal gets.
 * @throws {ApiError} `forbidden`
 */
function requirePermittedKey(
  { store, principal }: PermittedRequest,
  parts: ChangeSet,
  { values: presets, overriding }: Presets,
): void {
  const { view } = store
  for (const [field, part] of parts) {
    const isSet = field === view.owner || overriding.has(field)
    const value = field === view.owner ? ownerKey(view, principal) : presets.get(field)
    if (isSet && !isSameValue(field.valueType, part, value)) {
      throw new ApiError('forbidden', `you may not create this ${view.name}`)
    }
  }
}

/**
 * Checks the values of a key in the path like values in a body.
 * @param errors receives the errors of values that the fields cannot have, and of a body with another key
 */
function keyValues(view: ResourceView, parts: ChangeSet, body: Body, errors: FieldErrors): ChangeSet {
  const given = parseGivenValues(view, body, [...parts.keys()])
  const values = new Map<Field, unknown>()
  for (const [field, part] of parts) {
    const { name, valueType } = field
    const value = errors.try(name, () => parseValue(view, field, valueType.toJson(part)))
    const isOther = given.has(field) && !isSameValue(valueType, given.get(field), part)
    if (isOther) errors.add(name, 'must be the key in the path, or left out')
    values.set(field, value)
  }
  return values
}

/** The body without the member `id`, if it repeats the key in the path and the field of the key has another name. */
function withoutId({ key, writableFields }: ResourceView, body: Body, value: unknown): Body {
  if (writableFields.get(key.name)?.insertable) return body
  const given = body.get(key.name)
  const repeats = isDeepStrictEqual(given, key.valueType.toJson(value)) || isEqualTo(key, value, given)
  return repeats ? new Map([...body].filter(([name]) => name !== key.name)) : body
}
