import { generateApiKey, type NewApiKey } from '../access/api-keys/api-key'
import type { Principal } from '../access/rule'
import { retryOnce } from '../connection/retry'
import type { RawRow } from '../connection/statement'
import { ApiError, type FieldErrors } from '../errors'
import { parseInsert } from '../query/change-set'
import { ownerKey } from '../query/owner'
import { type Presets, presetsOf } from '../query/presets'
import type { ChangeSet } from '../query/query'
import type { Store } from '../read/store'
import type { HttpResponse } from '../response/http-response'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { givenKey } from '../write/nested/parent-key'
import { requireReferences } from '../write/references'
import { validateChanges } from '../write/validate'
import { insertRow } from '../write/write'
import type { WrittenRecord } from '../write/write-store'
import { createMany } from './create-many'
import { requireNoDryRun } from './dry-run'
import { hashPasswords } from './hash-passwords'
import { importFormat, importRecords } from './import'
import { type AddIncludes, prepareWriteIncludes, withoutIncludes } from './included-item'
import { segmentOfKey } from './key-segment'
import { type NestedBody, prepareBody, writeWithRelated } from './nested/nested-body'
import { callRelatedRules } from './related-rules'
import { repeatIfChanged } from './repeat-if-changed'
import type { BodyAction, PermittedRequest, Service } from './service'
import { readBodies, savedResponse } from './write-body'

/** POST on a collection. */
export const create: BodyAction = async (service, request) => {
  const including = await prepareWriteIncludes(service, request)
  if (importFormat(request) !== undefined) {
    requireOneRecord(including)
    requireCreatable(request)
  }
  return async (file) => {
    if (file !== undefined) {
      const { presets } = prepareCreation(request)
      await callRelatedRules(request)
      return importRecords(service, request, file, presets)
    }
    const body = await readBodies(service, request)
    requireCreatable(request)
    const creation = prepareCreation(request)
    if (!('size' in body)) {
      requireOneRecord(including)
      await callRelatedRules(request, body)
      return createMany(service, request, body, creation.presets)
    }
    requireNoDryRun(request)
    const nested = await prepareBody(service, request, body)
    const saved = await retryOnce(request.session, () => createRecord(service, request, nested, creation))
    return respondCreated(request, saved, creation, including)
  }
}

/** Requires that a request for several records has no `include`. @throws {ApiError} `bad-query` */
export function requireOneRecord(including: AddIncludes): void {
  if (including !== withoutIncludes) throw new ApiError('bad-query', 'include is not possible for several records')
}

/** Values of a new record that are not in the body. */
export interface Creation {
  readonly presets: Presets
  /** The key of a new record of an entity with `@ApiKeys`. */
  readonly apiKey: NewApiKey | undefined
}

/** Requires that `may` permits the principal to create records. @throws {ApiError} `forbidden` */
export function requireCreatable({ store }: PermittedRequest): void {
  const { view, policies } = store
  if (policies?.permits(view, 'create') === false) {
    throw new ApiError('forbidden', `you may not create this ${view.name}`)
  }
}

/**
 * Computes the values of a new record that are not in the body. Must be called once per request, not for each attempt: the
 * functions of the application may return another date or number each time.
 */
export function prepareCreation({ store, principal }: PermittedRequest): Creation {
  const { view, policies } = store
  const presets = presetsOf(view, policies)
  requireUserOfApiKey(view, principal, presets)
  return { presets, apiKey: view.apiKey && generateApiKey() }
}

/**
 * Creates one record, and its related records.
 * @param errors errors of the request so far. Default: those in the structure of the body
 * @param given values from the path of the record, which the body may omit. Default: none
 * @throws {ApiError} for every refusal
 */
export function createRecord(
  service: Service,
  request: PermittedRequest,
  body: NestedBody,
  creation: Creation,
  errors?: FieldErrors,
  given: ChangeSet = new Map(),
): Promise<WrittenRecord> {
  return repeatIfChanged(() => createOnce(service, request, body, creation, errors ?? body.newErrors(), given))
}

async function createOnce(
  service: Service,
  request: PermittedRequest,
  body: NestedBody,
  { presets, apiKey }: Creation,
  errors: FieldErrors,
  given: ChangeSet,
): Promise<WrittenRecord> {
  const { store, session, principal } = request
  const { view } = store
  const parsed = parseInsert(view, body.fields, ownerKey(view, principal), withGiven(presets, given), errors)
  const values = withApiKey(view, parsed, apiKey)
  await validateChanges(view, undefined, values, errors)
  const change = { action: 'create', values, stored: undefined, presets: presets.values } as const
  if (body.members.length > 0) {
    const own = { change, target: undefined, raw: undefined, key: givenKey(view, values) }
    return requireWritten(await writeWithRelated(request, body, own, errors), view)
  }
  await requireReferences(session, store, change, errors)
  return insertRow(session, store, { ...change, values: await hashPasswords(service, request, values) })
}

/** A new record has no target that could be missing. */
function requireWritten(saved: WrittenRecord | undefined, { name }: ResourceView): WrittenRecord {
  if (saved === undefined) throw new Error(`the new ${name} was not written`)
  return saved
}

/** Adds values that replace those of the body, as presets do. */
function withGiven(presets: Presets, given: ChangeSet): Presets {
  if (given.size === 0) return presets
  return {
    values: new Map([...presets.values, ...given]),
    overriding: new Set([...presets.overriding, ...given.keys()]),
  }
}

/** Responds to the request that has created a record. @param including adds the included records */
export async function respondCreated(
  { store, collection }: PermittedRequest,
  saved: WrittenRecord,
  { apiKey }: Creation,
  including: AddIncludes,
): Promise<HttpResponse> {
  const location = `${collection}${segmentOf(store, saved.raw)}/`
  const response = await including(savedResponse(201, saved, { Location: location }), store.readKey(saved.raw))
  return apiKey === undefined ? response : showApiKey(response, apiKey)
}

/** The last segment of the path of a record. */
export function segmentOf({ renderKey }: Store, raw: RawRow): string {
  return segmentOfKey(renderKey(raw))
}

/**
 * Requires that a preset that decides whose API keys are created sets the user, unless an administrator creates one. The
 * mount cannot know what the function returns.
 * @throws {TypeError} for a mistake of the application, with which users could create keys of others
 */
function requireUserOfApiKey(view: ResourceView, { admin }: Principal, { overriding }: Presets): void {
  const { apiKey: fields, preset, may, rule, owner, name, writableFields } = view
  const isDecided = preset === undefined || may.create !== undefined || rule.needs === 'admins' || admin === true
  if (fields === undefined || isDecided) return
  const isUser = ({ columns }: Field): boolean => columns.some(({ column }) => fields.user.includes(column))
  const open = [...writableFields.values()].filter((field) => isUser(field) && field.insertable && field !== owner)
  if (open.every((field) => overriding.has(field))) return
  throw new TypeError(`the preset of ${name} must set the user of a key, because its creator could choose any user`)
}

/** Adds the prefix and the hash of a new API key. They replace those that presets set. */
function withApiKey({ apiKey: fields }: ResourceView, changes: ChangeSet, apiKey: NewApiKey | undefined): ChangeSet {
  if (fields === undefined || apiKey === undefined) return changes
  // The fields of a preset are other objects with the same columns.
  const isOwn = ({ columns }: Field): boolean =>
    [fields.prefix, fields.hash].some(({ columns: [own] }) => columns.some(({ column }) => column === own?.column))
  const others = [...changes].filter(([field]) => !isOwn(field))
  return new Map([...others, [fields.prefix, apiKey.prefix], [fields.hash, apiKey.hash]])
}

/** Adds a new API key to the response that has created it, the only one that shows it. No cache may store it. */
function showApiKey(response: HttpResponse, { key }: NewApiKey): HttpResponse {
  const body = `${response.body.slice(0, -1)},"key":${JSON.stringify(key)}}`
  return { ...response, body, cacheControl: 'no-store' }
}
