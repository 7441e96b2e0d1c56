import type { DataSource } from 'typeorm'
import type { Authenticate, PasswordHashing } from './access/account'
import type { AccessRequest, Principal } from './access/rule'
import { ApiError, FieldErrors } from './errors'
import { planInsert, planUpdate, type ShownValue } from './plan/change-set'
import type { ChangeSet, Target } from './plan/plan'
import { parseKey, planItem, planList } from './plan/select-plan'
import { ownerKey, requireOwner } from './plan/target'
import { isUnreadable } from './query/dialect-of'
import { requireReferences } from './query/reference'
import { fieldValue, type Row } from './query/row'
import { fetchRows } from './query/select'
import { besideWrites, inTurn } from './query/turn'
import { validateChanges } from './query/validate'
import { deleteRow, insertRow, updateRow } from './query/write'
import { type Payload, parseBody } from './request/body'
import type { PageLimits } from './request/limits'
import { parseListRequest } from './request/list-request'
import { type Answer, answerEmpty, answerJson } from './response/answer'
import { renderEnvelope } from './response/envelope'
import { renderField, renderRecord } from './response/record'
import type { Resource } from './schema/registry'

/** What requests are answered from: built at mount, never written to. */
export interface Service {
  readonly dataSource: DataSource
  readonly pageLimits: PageLimits
  readonly authenticate: Authenticate
  readonly hashing: PasswordHashing
}

/** One request on a resource, with what is known before anything is read. */
export interface ResourceRequest {
  readonly resource: Resource
  /** The last segment of an item path, undecoded; undefined for the collection. */
  readonly segment: string | undefined
  /** Upper case. */
  readonly method: string
  readonly querystring: string
  readonly authorization: string | undefined
  /** The collection's own path: `/api/note/`. */
  readonly collection: string
  readonly context: AccessRequest['context']
  readonly readPayload: () => Promise<Payload>
}

/** What one method does; the access rule has let it pass. */
export type Action = (service: Service, request: ResourceRequest, principal: Principal) => Promise<Answer>

export const list: Action = async ({ dataSource, pageLimits }, { resource, querystring, collection }) => {
  const errors = new FieldErrors()
  const request = parseListRequest(querystring, pageLimits, errors)
  const plan = planList(resource, request, errors)
  errors.raise('bad-query')
  const rows = await besideWrites(dataSource, () => fetchRows({ dataSource }, plan)).catch((error: unknown) => {
    if (!isUnreadable(error, dataSource, resource)) throw error
    throw new ApiError('bad-query', 'the database cannot read the value of a filter')
  })
  return answerJson(200, renderEnvelope(resource, request, rows, collection))
}

export const create: Action = async (service, { resource, readPayload, collection }, principal) => {
  const body = await parseBody(await readPayload())
  const { dataSource } = service
  const row = await inTurn(dataSource, async () => {
    const errors = new FieldErrors()
    const changes = planInsert(resource, body, ownerKey(resource, principal), errors)
    await validateChanges(resource, undefined, changes, errors)
    await requireReferences({ dataSource }, resource, { changes, stored: undefined }, errors)
    return insertRow({ dataSource }, resource, await hashPasswords(service, changes))
  })
  const record = renderRecord(resource, row)
  // A comma, between the values of a key of several, may stand in a path.
  const segment = encodeURIComponent(String(record['id'])).replaceAll('%2C', ',')
  return answerJson(201, record, { Location: `${collection}${segment}/` })
}

export const read: Action = async ({ dataSource }, request) => {
  const { row } = await besideWrites(dataSource, () => requireRow(dataSource, request))
  return answerJson(200, renderRecord(request.resource, row))
}

export const update: Action = async (service, request, principal) => {
  const { resource } = request
  const body = await parseBody(await request.readPayload())
  const { dataSource } = service
  const updated = await inTurn(dataSource, async () => {
    const { row, target } = await requireRow(dataSource, request, resource.entityRow)
    requireOwner(resource, target, principal)
    const errors = new FieldErrors()
    const changes = planUpdate(resource, body, shownIn(resource, row), errors)
    await validateChanges(resource, row, changes, errors)
    await requireReferences({ dataSource }, resource, { changes, stored: row }, errors)
    if (changes.size === 0) return row
    return updateRow({ dataSource }, resource, target, await hashPasswords(service, changes), row)
  })
  if (updated === undefined) throw notFound(request)
  return answerJson(200, renderRecord(resource, updated))
}

export const remove: Action = async ({ dataSource }, request, principal) => {
  const { resource } = request
  const isRemoved = await inTurn(dataSource, async () => {
    const { target } = await requireRow(dataSource, request)
    requireOwner(resource, target, principal)
    return deleteRow({ dataSource }, resource, target)
  })
  if (!isRemoved) throw notFound(request)
  return answerEmpty()
}

/** @throws {ApiError} `not-found` */
async function requireRow(
  dataSource: DataSource,
  request: ResourceRequest,
  columns?: Resource['row'],
): Promise<{ row: Row; target: Target }> {
  const { resource, segment = '' } = request
  const key = parseKey(resource, segment)
  if (key === undefined) throw notFound(request)
  const [row] = await fetchRows({ dataSource }, planItem(resource, key, columns)).catch((error: unknown) => {
    // An id that the database cannot read is that of no record.
    if (isUnreadable(error, dataSource, resource)) return []
    throw error
  })
  if (row === undefined) throw notFound(request)
  const owner = resource.owner === undefined ? undefined : fieldValue(resource, row, resource.owner)
  return { row, target: { key, owner } }
}

/** What the client sees of a record: nothing of a hidden field. */
function shownIn(resource: Resource, row: Row): ShownValue {
  return (field) => (resource.record.includes(field) ? renderField(resource, row, field) : undefined)
}

function notFound({ resource }: ResourceRequest): ApiError {
  return new ApiError('not-found', `there is no ${resource.name} of this id`)
}

async function hashPasswords({ hashing }: Service, changes: ChangeSet): Promise<ChangeSet> {
  const hashed = new Map(changes)
  for (const [field, value] of changes) {
    if (field.password && typeof value === 'string') hashed.set(field, await hashing.hash(value))
  }
  return hashed
}
