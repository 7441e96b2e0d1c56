import { isDeepStrictEqual } from 'node:util'
import type { DbSession } from '../connection/db-session'
import { type RawRow, runFallible } from '../connection/statement'
import { ApiError } from '../errors'
import { type ItemCondition, itemQuery, parseKey } from '../query/item-query'
import { ownerKey } from '../query/owner'
import type { Query } from '../query/query'
import { renderStored } from '../read/entity-tag'
import type { ValueLimit } from '../read/measure'
import { fieldValue, type Row } from '../read/row'
import { bytesOf } from '../read/row-bytes'
import { existsItem, readRawItem } from '../read/select'
import type { Store } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { adviceForIfMatch, holdsIfMatch, holdsIfNoneMatch } from '../request/preconditions'
import type { ReadColumn } from '../schema/stored-column'
import { ChangedError } from '../write/changed-error'
import { isOwnedBy } from '../write/target-condition'
import type { WriteTarget } from '../write/write-store'
import type { PermittedRequest, ReadRequest, ResourceRequest } from './service'

/** A row of the driver, and its key as a value. */
interface FoundRow {
  readonly key: unknown
  readonly raw: RawRow
}

/**
 * Reads the record of an item path, as a row of the driver.
 * @param valueLimit maximum size of the values to read
 * @throws {ApiError} `not-found`
 */
export async function requireRow(
  request: ReadRequest,
  session: DbSession,
  select?: Query['select'],
  valueLimit?: ValueLimit,
): Promise<FoundRow> {
  const found = await findRow(request, session, select, 'visible', valueLimit)
  if (found === undefined) throw notFound(request)
  return found
}

/** Reads the record of an item path like {@link requireRow}. @returns undefined if it does not exist, or does not match */
async function findRow(
  { store, segment = '', deleted }: ReadRequest,
  session: DbSession,
  select: Query['select'] | undefined,
  condition: ItemCondition,
  valueLimit?: ValueLimit,
): Promise<FoundRow | undefined> {
  const key = parseKey(store.view, segment)
  if (key === undefined) return undefined
  try {
    const options = { valueLimit, condition, deleted }
    const raw = await runFallible(session, (inner) => readRawItem(inner, store, key, select, options))
    return raw && { raw, key }
  } catch (error) {
    // There is no record with an id that the database cannot read.
    const query = itemQuery(store.view, key, 'columns', condition, deleted)
    if (!(await isCausedByQueryValue(error, session, store, query))) throw error
    return undefined
  }
}

/** Record that a write changes, as it was read before the write. */
export interface FoundRecord {
  readonly raw: RawRow
  readonly row: Row
  readonly target: WriteTarget
}

/**
 * Reads the record that a write changes, and checks its owner and the permission.
 * @throws {ApiError} `not-found`, `not-owner`, `forbidden`
 */
export async function requireWritable(
  request: PermittedRequest,
  action: WriteTarget['action'],
  select: 'columns' | 'entityColumns' = 'columns',
): Promise<{ readonly raw: RawRow; readonly row: Row; readonly key: unknown }> {
  const { store, session, deleted } = request
  // Usually the principal may see the record and write it, which one statement finds out. The others find the refusal.
  const permitted =
    deleted === undefined && dependsOnRecord(store, action)
      ? await findRow(request, session, select, { action, state: 'before' })
      : undefined
  const { raw, key } = permitted ?? (await requireRow(request, session, select))
  const row = store.selected[select].readRow(raw)
  requireOwner(request, row)
  if (permitted === undefined) await requirePermission(request, key, action)
  // The database may find a record by a key in another spelling, such as another case.
  return { raw, row, key: store.readKey(raw) }
}

/**
 * Reads the record that a write changes, and checks its owner, the permission and the preconditions. Memory for a
 * response with the whole record is reserved here, because the response must be sent once the write is done.
 * @throws {ApiError} `not-found`, `not-owner`, `forbidden`, `precondition-failed`,
 * `precondition-required`, `unavailable`
 */
export async function requireWriteTarget(
  request: PermittedRequest,
  action: WriteTarget['action'],
  select: 'columns' | 'entityColumns' = 'columns',
): Promise<FoundRecord> {
  const { store, headers } = request
  const { view } = store
  const { raw, row, key } = await requireWritable(request, action, select)
  const ifMatch = headers['if-match']
  if (view.requireIfMatch && ifMatch === undefined) {
    throw new ApiError('precondition-required', `send If-Match with the ETag of the ${view.name} that you have read`)
  }
  requirePreconditions(request, raw)
  request.responseMemory().reserve(bytesOf(raw))
  const requireUnchanged = (locked: RawRow): void => {
    if (!isDeepStrictEqual(locked, raw)) requirePreconditions(request, locked)
  }
  const owner = view.owner && fieldValue(view, row, view.owner)
  return {
    raw,
    row,
    target: { action, key, owner, requireUnchanged: ifMatch === undefined ? undefined : requireUnchanged },
  }
}

/**
 * Adds a check to the target of an update: the columns whose values have decided the update must still have them when
 * the row is locked. Otherwise the write throws {@link ChangedError}.
 * @param found record that was read with `entityColumns`
 */
export function requiringUnchanged(
  { view }: Store,
  { raw, target }: FoundRecord,
  columns: readonly ReadColumn[],
): WriteTarget {
  if (columns.length === 0) return target
  const positions = columns.map((column) => view.entityColumns.indexOf(column))
  const requireUnchanged = (locked: RawRow): void => {
    target.requireUnchanged?.(locked)
    for (const position of positions) {
      if (!isSameValue(locked[position], raw[position])) throw new ChangedError()
    }
  }
  return { ...target, requireUnchanged }
}

/** Whether two values of the driver are equal. Zero date-times of MySQL are invalid dates, which Node.js counts as different. */
function isSameValue(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) || (isInvalidDate(one) && isInvalidDate(other))
}

function isInvalidDate(value: unknown): boolean {
  return value instanceof Date && Number.isNaN(value.getTime())
}

/**
 * Requires that the principal is the owner of a record (specification: Owners).
 * @throws {ApiError} `not-owner`
 */
function requireOwner({ store, principal }: PermittedRequest, row: Row): void {
  const { view } = store
  if (view.owner === undefined || isOwnedBy(view, row, ownerKey(view, principal))) return
  throw new ApiError('not-owner', `only the owner may change or delete this ${view.name}`)
}

/** Whether it depends on the record whether `may` permits a write. */
function dependsOnRecord({ view, policies }: Store, action: WriteTarget['action']): boolean {
  return view.may[action] !== undefined && policies?.permits(view, action) === undefined
}

/**
 * Requires that `may` permits the principal to write a record as it is stored (specification: Permissions).
 * @throws {ApiError} `forbidden`
 */
async function requirePermission(
  { store, session }: PermittedRequest,
  key: unknown,
  action: WriteTarget['action'],
): Promise<void> {
  const { view, policies } = store
  if (view.may[action] === undefined) return
  const isPermitted = policies?.permits(view, action)
  if (isPermitted ?? (await existsItem(session, store, key, { action, state: 'before' }))) return
  throw new ApiError('forbidden', `you may not ${action === 'update' ? 'change' : action} this ${view.name}`)
}

/**
 * Compares the conditional headers of a write with the ETag of the stored row.
 * @throws {ApiError} `precondition-failed`
 */
export function requirePreconditions({ store, headers }: PermittedRequest, raw: RawRow): void {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  if (ifMatch === undefined && ifNoneMatch === undefined) return
  const { tag } = renderStored(store.rawRenderer, raw)
  requireIfMatch(store, ifMatch, tag)
  if (!holdsIfNoneMatch(ifNoneMatch, tag)) throw ifNoneMatchFailed(store.view, ifNoneMatch)
}

/**
 * Requires that a record matches `If-Match`. @param tag ETag of the record
 * @throws {ApiError} `precondition-failed`
 */
export function requireIfMatch({ view }: Store, ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined || holdsIfMatch(ifMatch, tag)) return
  throw new ApiError('precondition-failed', `this ${view.name} does not match If-Match${adviceForIfMatch(ifMatch)}`)
}

/** Error for an `If-Match` of a request that would create a record. */
export function nothingToMatch({ name }: PermittedRequest['resource']): ApiError {
  const detail = `this ${name} does not exist, so it cannot match If-Match; to create it, leave this header out`
  return new ApiError('precondition-failed', detail)
}

/** Error for a record that matches the `If-None-Match` of a write. */
export function ifNoneMatchFailed({ name }: PermittedRequest['resource'], ifNoneMatch = ''): ApiError {
  const detail =
    ifNoneMatch.trim() === '*'
      ? `this ${name} exists, and If-None-Match: * only permits to create one`
      : `this ${name} matches If-None-Match, which only permits to write one that has changed`
  return new ApiError('precondition-failed', detail)
}

export function notFound({ resource }: ResourceRequest): ApiError {
  return new ApiError('not-found', `there is no ${resource.name} with this id`)
}
