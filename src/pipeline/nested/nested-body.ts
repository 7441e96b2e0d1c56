import { ApiError, FieldErrors } from '../../errors'
import { parseNestedBody, type RecordBody } from '../../query/nested-body'
import type { Body } from '../../request/body'
import { type PlannedMember, type PlannedRecord, recordsIn } from '../../write/nested/planned'
import { requireAllReferences } from '../../write/nested/require-references'
import { writeNested } from '../../write/nested/write-nested'
import type { WrittenRecord } from '../../write/write-store'
import { hashPasswords } from '../hash-passwords'
import type { PermittedRequest, Service } from '../service'
import { NestedAccess, type ParentState } from './access'
import type { NestedParent, Nesting } from './nesting'
import { requireOneWriteEach } from './one-write-each'
import { planMembers } from './plan'
import { relatedResources } from './related'

/** Body of a write whose related records are known, but not planned yet. */
export interface NestedBody extends RecordBody {
  /** Undefined without related records. */
  readonly nesting: Nesting | undefined
  /** Returns the errors in the structure of the body, to which further errors can be added. */
  readonly newErrors: () => FieldErrors
}

const noErrors = (): FieldErrors => new FieldErrors()

/**
 * Separates the fields of a body from its related records, and calls the access rules of their resources
 * (specification: Nested writes).
 * @param state whether the body is for a new record. Default: `new` for a POST, otherwise `stored`
 * @throws {ApiError} `bad-body`, `unauthorized`, `forbidden`
 */
export async function prepareBody(
  service: Service,
  request: PermittedRequest,
  body: Body,
  state: ParentState = request.method === 'POST' ? 'new' : 'stored',
): Promise<NestedBody> {
  const { method, store } = request
  if (store.view.nested().size === 0)
    return { path: '', fields: body, members: [], nesting: undefined, newErrors: noErrors }
  const replaces = method === 'PUT'
  const found = new FieldErrors()
  const record = parseNestedBody(store.view, body, replaces, service.limits, found)
  const access = new NestedAccess(request)
  await access.check(record, state, replaces)
  const nesting = { service, request, access, related: relatedResources(request), replaces }
  return { ...record, nesting, newErrors: () => found.copy() }
}

/**
 * Plans and writes a record with its related records.
 * @param request with the session to use
 * @param own the write of the record itself, as far as it is planned
 * @param errors errors in the record itself
 * @returns undefined if the record to update does not exist any more
 * @throws {ApiError} for every refusal
 * @throws {ChangedError} if other requests have changed related records meanwhile
 */
export async function writeWithRelated(
  request: PermittedRequest,
  body: NestedBody,
  own: Pick<PlannedRecord, 'change' | 'target'> & Pick<NestedParent, 'raw' | 'key'>,
  errors: FieldErrors,
): Promise<WrittenRecord | undefined> {
  if (body.nesting === undefined) throw new Error('the body has no related records')
  const nesting = { ...body.nesting, request }
  const { service } = nesting
  const { store, session } = request
  const parent = { store, body, raw: own.raw, key: own.key }
  const members = (await planMembers(nesting, [parent], errors)).get(parent) ?? []
  const root: PlannedRecord = { store, path: '', change: own.change, target: own.target, members }
  requireOneWriteEach(root)
  await requireAllReferences(session, root, errors)
  requireFewPasswords(root, service.limits.queuedPasswords)
  return writeNested(session, await withHashes(nesting, root), service.limits.nested)
}

/**
 * Limits the number of passwords in a body, because hashing one takes longer than all other work for a record.
 * @throws {ApiError} `bad-body`
 */
function requireFewPasswords(root: PlannedRecord, max: number): void {
  const fields = recordsIn(root).flatMap(({ change }) => [...change.values.keys()])
  if (fields.filter(({ password }) => password).length <= max) return
  throw new ApiError('bad-body', `the body has more than ${max} passwords`)
}

/** Replaces the passwords in a record and its related records by their hashes. */
async function withHashes(nesting: Nesting, record: PlannedRecord): Promise<PlannedRecord> {
  const hashAll = async (records: readonly PlannedRecord[]): Promise<readonly PlannedRecord[]> => {
    const hashed: PlannedRecord[] = []
    for (const one of records) hashed.push(await withHashes(nesting, one))
    return hashed
  }
  const members: PlannedMember[] = []
  for (const member of record.members) {
    if (member.type === 'links') members.push(member)
    else members.push({ ...member, updates: await hashAll(member.updates), creates: await hashAll(member.creates) })
  }
  const values = await hashPasswords(nesting.service, nesting.request, record.change.values)
  return { ...record, change: { ...record.change, values }, members }
}
