import type { DataSource } from 'typeorm'
import type { Authenticate, PasswordHashing } from './access/account'
import { parseCredentials } from './access/credentials'
import type { AccessRequest, Principal } from './access/rule'
import { ApiError, Faults } from './errors'
import { planInsert, planUpdate } from './plan/change-set'
import type { ChangeSet } from './plan/plan'
import { planItem, planList, readKey } from './plan/select-plan'
import { findDangling } from './query/refuse-write'
import { fetchRows, type Row } from './query/select'
import { deleteRow, insertRow, type Target, updateRow } from './query/write'
import { type Body, type Payload, parseBody } from './request/body'
import type { PageLimits } from './request/limits'
import { parseListRequest } from './request/list-request'
import { type Answer, answerEmpty, answerJson } from './response/answer'
import { renderEnvelope } from './response/envelope'
import { renderRecord } from './response/record'
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

type Action = (service: Service, request: ResourceRequest, principal: Principal) => Promise<Answer>

const reading: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Answers a request in the order of D2: access rule, method, what is sent, record, owner, values, constraints.
 * @throws {ApiError} for every refusal
 */
export async function handle(service: Service, request: ResourceRequest): Promise<Answer> {
  const principal = await requirePrincipal(service, request)
  const actions = request.segment === undefined ? collectionActions : itemActions
  const allowed = Object.keys(actions).filter(
    (method) => request.resource.rule.writes !== false || reading.includes(method),
  )
  const action = allowed.includes(request.method) ? actions[request.method] : undefined
  const headers = { Allow: allowed.join(', ') }
  if (action === undefined) {
    throw new ApiError(
      'method-not-allowed',
      `${request.method} is not possible here; ${headers.Allow} are`,
      [],
      headers,
    )
  }
  return request.method === 'OPTIONS' ? answerEmpty(headers) : action(service, request, principal)
}

async function requirePrincipal(service: Service, request: ResourceRequest): Promise<Principal> {
  const { resource, method, context } = request
  const credentials = parseCredentials(request.authorization)
  const principal = await resource.rule({
    method,
    reads: reading.includes(method),
    credentials,
    authenticate: () => service.authenticate(credentials),
    context,
  })
  if (!principal) throw new ApiError('unauthorized', 'Authentication failed')
  if (principal.id === undefined) {
    throw new TypeError(`the access rule of ${resource.name} must answer with null, or with { id } of a user or null`)
  }
  // Nobody can own a record without being somebody.
  const ownsNothing = resource.owner !== undefined && principal.id === null
  if (ownsNothing && !reading.includes(method)) throw new ApiError('unauthorized', 'Authentication failed')
  return principal
}

/** The principal's id as the owner's foreign key holds it: a site's own rule may know it as text. */
function ownerKey({ owner, name }: Resource, { id }: Principal): unknown {
  if (owner === undefined) return undefined
  try {
    return owner.kind.fromText(String(id))
  } catch (error) {
    throw new TypeError(`the access rule of ${name} answered with ${JSON.stringify(id)}, which is no key of a user`, {
      cause: error,
    })
  }
}

const list: Action = async ({ dataSource, pageLimits }, { resource, querystring, collection }) => {
  const faults = new Faults()
  const request = parseListRequest(querystring, pageLimits, faults)
  const plan = planList(resource, request, faults)
  faults.raise('bad-query')
  return answerJson(200, renderEnvelope(resource, request, await fetchRows(dataSource, plan), collection))
}

const create: Action = async (service, { resource, readPayload, collection }, principal) => {
  const body = await parseBody(await readPayload())
  const faults = new Faults()
  const changes = planInsert(resource, body, ownerKey(resource, principal), faults)
  const row = await insertRow(service.dataSource, resource, await accept(service, changes, faults))
  const record = renderRecord(resource, row)
  return answerJson(201, record, { Location: `${collection}${encodeURIComponent(String(record['id']))}/` })
}

const read: Action = async ({ dataSource }, request) =>
  answerJson(200, renderRecord(request.resource, (await requireRow(dataSource, request)).row))

const update: Action = async (service, request, principal) => {
  const { resource } = request
  const body: Body = await parseBody(await request.readPayload())
  const { row, key } = await requireRow(service.dataSource, request)
  const target = requireOwner(resource, row, key, principal)
  const faults = new Faults()
  const changes = planUpdate(resource, body, renderRecord(resource, row), faults)
  const accepted = await accept(service, changes, faults)
  const updated = accepted.size === 0 ? row : await updateRow(service.dataSource, resource, target, accepted)
  if (updated === undefined) throw notFound(request)
  return answerJson(200, renderRecord(resource, updated))
}

const remove: Action = async ({ dataSource }, request, principal) => {
  const { row, key } = await requireRow(dataSource, request)
  const target = requireOwner(request.resource, row, key, principal)
  if (!(await deleteRow(dataSource, request.resource, target))) throw notFound(request)
  return answerEmpty()
}

const options: Action = async () => answerEmpty()

const collectionActions: Readonly<Record<string, Action>> = { GET: list, HEAD: list, OPTIONS: options, POST: create }
const itemActions: Readonly<Record<string, Action>> = {
  GET: read,
  HEAD: read,
  OPTIONS: options,
  PUT: update,
  PATCH: update,
  DELETE: remove,
}

async function requireRow(dataSource: DataSource, request: ResourceRequest): Promise<{ row: Row; key: unknown }> {
  const key = readKey(request.resource, request.segment ?? '')
  const [row] = key === undefined ? [] : await fetchRows(dataSource, planItem(request.resource, key))
  if (row === undefined) throw notFound(request)
  return { row, key }
}

function notFound({ resource }: ResourceRequest): ApiError {
  return new ApiError('not-found', `there is no ${resource.name} of this id`)
}

/** @throws {ApiError} `not-owner`, unless the record is the principal's (spec.md, Authentication, rule 4) */
function requireOwner(resource: Resource, row: Row, key: unknown, principal: Principal): Target {
  const { owner } = resource
  if (owner === undefined) return { key }
  const value = row[resource.row.indexOf(owner)]
  if (value === null || owner.kind.toJson(value) !== owner.kind.toJson(ownerKey(resource, principal))) {
    throw new ApiError('not-owner', `only the owner may change or delete this ${resource.name}`)
  }
  return { key, owner: value }
}

/** The changes with passwords hashed. @throws {ApiError} `bad-values`, with every fault there is */
async function accept({ dataSource, hashing }: Service, changes: ChangeSet, faults: Faults): Promise<ChangeSet> {
  // A foreign key that the database watches is looked up only where there is a fault to report anyway.
  const unwatched = new Map([...changes].filter(([field]) => faults.some || !field.constrained))
  await findDangling(dataSource, unwatched, faults)
  faults.raise('bad-values')
  const accepted = new Map(changes)
  for (const [field, value] of changes) {
    if (field.password && typeof value === 'string') accepted.set(field, await hashing.hash(value))
  }
  return accepted
}
