import type { DbTransaction } from '../connection/db-session'
import { pause } from '../connection/pauses'
import { retryOnce } from '../connection/retry'
import { isInTransaction, runInSavepoint, runSharedTransaction } from '../connection/statement'
import { ApiError, FieldErrors } from '../errors'
import { parseUpdate } from '../query/change-set'
import { parseListQuery } from '../query/list-query'
import { ownerKey } from '../query/owner'
import type { ChangeSet, ListQuery } from '../query/query'
import { afterLoad } from '../read/after-load'
import { hasRowConditions, lockMatching, readItemsInOrder, readRawItem } from '../read/select'
import { withOwners } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { parseBulkRequest } from '../request/bulk-request'
import type { Limits } from '../request/limits'
import { holdsIfMatch, holdsIfNoneMatch } from '../request/preconditions'
import { type HttpResponse, jsonResponse } from '../response/http-response'
import type { ResourceView, WriteAction } from '../schema/resource-view'
import { listParametersOf } from '../schema/search-fields'
import type { Change } from '../write/change'
import { jsonLength } from '../write/record-parts'
import { requireReferences } from '../write/references'
import { refuseDelete, refuseWrite } from '../write/refuse-write'
import { isOwnedBy } from '../write/target-condition'
import { validateChanges } from '../write/validate'
import { deleteMatching, deleteRows, updateMatching, updateRows } from '../write/write-rows'
import type { WriteTargets } from '../write/write-store'
import { hashPasswords } from './hash-passwords'
import type { Action, BodyAction, PermittedRequest, Service } from './service'
import { readBody } from './write-body'

type BulkAction = Extract<WriteAction, 'update' | 'delete'>

/** PATCH on a collection: changes all records that match the filters (specification: Bulk writes). */
export const updateMany: BodyAction = async (service, request) => {
  const { store, session } = request
  const { view } = store
  const matching = await parseMatching(service, request)
  return async () => {
    const body = await readBody(service, request)
    requireMayWrite(request, 'update')
    const errors = new FieldErrors()
    const { changes } = parseUpdate(view, body, () => undefined, errors)
    if (errors.isEmpty && changes.size === 0) errors.add('the body', 'has no field to change')
    addPartialReferenceErrors(view, changes, errors)
    const change = { action: 'update', values: changes, stored: undefined } as const
    await requireReferences(session, store, change, errors)
    const values = await hashPasswords(service, request, changes)
    const written = { ...change, values }
    const limited = withRoomFor(changes, matching, service.limits)
    const updated = await writeMatching(request, limited, 'update', {
      matching: (inner) => updateMatching(inner, store, limited.query, written),
      targets: async (inner, targets) => {
        await validateAll(inner, request, targets.keys, changes)
        await updateRows(inner, store, targets, written)
      },
    })
    return countResponse(request, 'updated', updated)
  }
}

/**
 * Adds an error for each foreign key of several columns of which only some are written: the record that it refers to would
 * depend on the stored values, which differ.
 */
function addPartialReferenceErrors(view: ResourceView, changes: ChangeSet, errors: FieldErrors): void {
  const written = new Set([...changes.keys()].flatMap(({ columns }) => columns))
  for (const { columns } of view.references) {
    const changed = columns.filter((column) => written.has(column))
    if (changed.length === 0 || changed.length === columns.length) continue
    const field = [...changes.keys()].find((one) => one.columns.some((column) => changed.includes(column)))
    errors.add(field?.name ?? view.key.name, 'is a part of a key; set all of its parts to change several records')
  }
}

/** DELETE on a collection: deletes all records that match the filters (specification: Bulk writes). */
export const removeMany: Action = async (service, request) => {
  const matching = await parseMatching(service, request)
  requireMayWrite(request, 'delete')
  const { store } = request
  const deleted = await writeMatching(request, matching, 'delete', {
    matching: (inner) => deleteMatching(inner, store, matching.query),
    targets: (inner, targets) => deleteRows(inner, store, targets),
  })
  return countResponse(request, 'deleted', deleted)
}

function countResponse({ resource }: PermittedRequest, name: 'updated' | 'deleted', count: number): HttpResponse {
  return jsonResponse(200, JSON.stringify({ meta: { model: resource.name, [name]: count } }))
}

/** The records that a request writes, and how many they may be. */
interface Matching {
  readonly query: ListQuery
  readonly max: number
  /** What the client can do if more records match, besides adding filters. */
  readonly fix: string
}

/**
 * Limits the number of records to which long values are written: otherwise a body of 1 MB could write 1 GB with one statement. All
 * together may have as many characters as the records of a page have bytes.
 */
function withRoomFor(changes: ChangeSet, matching: Matching, { pageBytes }: Limits): Matching {
  const room = Math.max(1, Math.floor(pageBytes / jsonLength([...changes.values()])))
  if (room >= matching.max) return matching
  // Like `parseListQuery`: one record more than its limit.
  const query = { ...matching.query, limit: readLimitOf(room) + 1 }
  return { query, max: room, fix: 'or send shorter values (limits.pageBytes)' }
}

/**
 * Parses the filters of a request. They reveal values, so the access rule must permit the principal to read the resource.
 * @throws {ApiError} `bad-query`, `forbidden`, `precondition-failed`
 */
export async function parseMatching(service: Service, request: PermittedRequest): Promise<Matching> {
  const { store, querystring, resource, mayRead, headers } = request
  // No ETag is that of several records: only `*` matches.
  if (!holdsIfMatch(headers['if-match'], '')) {
    const fix = 'send it without If-Match, or change each record at its own path'
    throw new ApiError(
      'precondition-failed',
      `If-Match has the ETag of one record, but this request writes all records that match its filters; ${fix}`,
    )
  }
  if (!holdsIfNoneMatch(headers['if-none-match'], '')) {
    throw new ApiError(
      'precondition-failed',
      'If-None-Match: * requires that there is no record, but this request writes those that exist; send it without If-None-Match',
    )
  }
  if (!(await mayRead(resource.name))) {
    throw new ApiError('forbidden', `you may not read ${resource.name}, so you cannot select its records by filters`)
  }
  const { view } = store
  const errors = new FieldErrors()
  const { list, max } = parseBulkRequest(
    querystring,
    listParametersOf(view),
    view.bulk,
    view.fields.has('max'),
    service.limits,
    errors,
  )
  const query = parseListQuery(view, { ...list, limit: readLimitOf(max) }, service, errors)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  return { query: { ...query, cursor: undefined }, max, fix: `or raise max (at most ${view.bulk})` }
}

/**
 * The limit of a query that finds out whether more than `max` records match. A query reads one record more than its limit. This
 * number is a power of two, because it is part of the SQL: otherwise, each `max` would need a statement of its own.
 */
function readLimitOf(max: number): number {
  return 2 ** Math.ceil(Math.log2(max + 1)) - 1
}

/** @throws {ApiError} `forbidden` if `may` permits no record to be written */
function requireMayWrite({ store }: PermittedRequest, action: BulkAction): void {
  if (store.policies?.permits(store.view, action) !== false) return
  throw new ApiError('forbidden', `you may not ${verbs[action]} these records of ${store.view.name}`)
}

const verbs: Readonly<Record<BulkAction, string>> = { update: 'change', delete: 'delete' }

/** Two ways to write the records that match. */
interface MatchingWrite {
  /** Writes them by one statement. @returns their number; undefined if they have to be locked and checked first */
  readonly matching: (session: DbTransaction) => Promise<number | undefined>
  /** Writes the records that were locked and checked. */
  readonly targets: (session: DbTransaction, targets: WriteTargets) => Promise<void>
}

/**
 * Writes the records that match. If the service has to check them, it locks them, checks that the principal may write each
 * of them, and writes them by their keys. All is one transaction.
 * @returns the number of records
 * @throws {ApiError} `conflict` if too many records match, `not-owner`, `forbidden`
 */
async function writeMatching(
  request: PermittedRequest,
  { query, max, fix }: Matching,
  action: BulkAction,
  write: MatchingWrite,
): Promise<number> {
  const { store, session, principal } = request
  const { view, dialect } = store
  // Owners are compared with the stored values, so they are read too.
  const select = view.owner === undefined ? 'key' : 'columns'
  const readingStore = view.owner === undefined ? store : withOwners(store)
  try {
    return await retryOnce(session, () =>
      runSharedTransaction(
        session,
        async (inner) => {
          const count = await write.matching(inner)
          requireAtMost(max, count ?? 0, fix)
          if (count !== undefined) return count
          await store.writer.lockTable?.(inner, store)
          const lock = (locking: DbTransaction) => lockMatching(locking, readingStore, { ...query, select }, action)
          // In a transaction of the caller, a savepoint is needed: after an error, another statement finds out whether a filter
          // has caused it.
          const rows = await (isInTransaction(session) ? runInSavepoint(inner, lock) : lock(inner))
          requireAtMost(max, rows.length, fix)
          const owner = ownerKey(view, principal)
          const { readRow } = readingStore.selected.columns
          if (view.owner !== undefined && !rows.every((raw) => isOwnedBy(readingStore.view, readRow(raw), owner))) {
            throw new ApiError('not-owner', `only their owners may change or delete records of ${view.name}`)
          }
          const keys = await requirePermitted(inner, request, rows.map(readingStore.readKey), action)
          if (keys.length > 0) await write.targets(inner, { keys, owner })
          return keys.length
        },
        dialect.checkedWriteIsolation,
        // COMMIT checks deferred constraints.
      ).catch((error: unknown) =>
        action === 'delete' ? refuseDelete(error, store) : refuseWrite(error, session, store, changed),
      ),
    )
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, store, query))) throw error
    throw new ApiError('bad-query', 'the database cannot read the value of a filter')
  }
}

/** The change of any stored record. */
const changed: Change = { action: 'update', values: new Map(), stored: undefined }

/** @throws {ApiError} `conflict` */
function requireAtMost(max: number, count: number, fix: string): void {
  if (count <= max) return
  throw new ApiError('conflict', `more than ${max} records match; nothing was written: add filters, ${fix}`)
}

/**
 * Requires that `may` permits the principal to write each of the locked records.
 * @returns the keys of the records that the principal may still see: the statement that has locked them may have waited
 * @throws {ApiError} `forbidden`
 */
async function requirePermitted(
  session: DbTransaction,
  { store }: PermittedRequest,
  keys: readonly unknown[],
  action: BulkAction,
): Promise<readonly unknown[]> {
  const { view } = store
  if (keys.length === 0 || !hasRowConditions(store, action)) return keys
  const readKeys = (condition: 'visible' | { action: BulkAction; state: 'before' }) =>
    readItemsInOrder(session, store, keys, 'key', { condition })
  const permitted = await readKeys({ action, state: 'before' })
  if (!permitted.includes(undefined)) return keys
  const visible = await readKeys('visible')
  if (visible.some((raw, index) => raw !== undefined && permitted[index] === undefined)) {
    throw new ApiError('forbidden', `you may not ${verbs[action]} one of these records of ${view.name}`)
  }
  return keys.filter((_, index) => visible[index] !== undefined)
}

/** Runs the validators of the entity on each record. @throws {ApiError} `bad-values` */
async function validateAll(
  session: DbTransaction,
  { store }: PermittedRequest,
  keys: readonly unknown[],
  changes: ChangeSet,
): Promise<void> {
  const { view, selected } = store
  if (view.validate === undefined) return
  const errors = new FieldErrors()
  for (const key of keys) {
    await pause(session)
    const raw = await readRawItem(session, store, key, 'entityColumns', { condition: 'none' })
    if (raw === undefined || errors.isFull) continue
    const [row] = await afterLoad(session, view, [selected.entityColumns.readRow(raw)])
    await validateChanges(view, row, changes, errors)
  }
  errors.raise('bad-values')
}
