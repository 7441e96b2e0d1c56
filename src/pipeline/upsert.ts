import type { DbTransaction } from '../connection/db-session'
import { type RawRow, runInSavepoint } from '../connection/statement'
import { violationOf } from '../dialect/dialect-of'
import { ApiError, ConcurrentConflict, FieldErrors } from '../errors'
import {
  type ConflictFields,
  conflictQuery,
  conflictValues,
  namesOf,
  parseConflictFields,
} from '../query/conflict-fields'
import { ownerKey } from '../query/owner'
import { lockTwoKeys } from '../read/lock-keys'
import type { Body } from '../request/body'
import type { WrittenRecord } from '../write/write-store'
import { type Creation, createRecord, prepareCreation, requireCreatable, segmentOf } from './create'
import { nothingToMatch } from './item'
import { refusalOf } from './item-actions'
import { type NestedBody, prepareBody } from './nested/nested-body'
import type { PermittedRequest, Service, TransactionRequest } from './service'
import { readAndUpdate } from './update'

/** Upsert that the parameter `on_conflict` requests. */
export interface Upsert {
  /** Fields whose values identify the record to update. */
  readonly fields: ConflictFields
  readonly creation: Creation
}

/** Record that an upsert has created or updated. */
export interface UpsertedRecord {
  readonly isNew: boolean
  readonly record: WrittenRecord
}

/**
 * Prepares the upsert that the parameter `on_conflict` requests (specification: Upserts).
 * @returns undefined without the parameter
 * @throws {ApiError} `bad-query`; `unauthorized` or `forbidden` if the access rule does not permit updates
 */
export async function prepareUpsert(request: PermittedRequest): Promise<Upsert | undefined> {
  const names = request.parameters.onConflict
  if (names === undefined) return undefined
  await request.requireMethod('PATCH')
  const creation = prepareCreation(request)
  const errors = new FieldErrors()
  const fields = errors.try('on_conflict', () => parseConflictFields(request.store.view, names, creation.presets)) ?? []
  errors.raise('bad-query')
  return { fields, creation }
}

/**
 * Updates the visible record with the same values as PATCH does, or creates a record.
 * @throws {ApiError} for every refusal
 * @throws {ConcurrentConflict} if another record has a unique value of the new one: another request may have created it at
 * the same time. The transaction is repeated, because MySQL would report deadlocks if it went on
 */
export async function upsertRecord(
  service: Service,
  request: TransactionRequest,
  body: Body,
  { fields, creation }: Upsert,
): Promise<UpsertedRecord> {
  const { store, headers, principal } = request
  const { view } = store
  const { presets } = creation
  const nested = await prepareBody(service, request, body, 'unknown')
  const errors = nested.newErrors()
  const values = conflictValues(view, body, fields, { owner: ownerKey(view, principal), presets }, errors)
  if (values !== undefined) {
    const segment = await findRecord(request, fields, values)
    const record =
      segment === undefined
        ? undefined
        : await updateFound(service, { ...request, segment }, withoutFields(nested, fields))
    if (record !== undefined) return { isNew: false, record }
    if (headers['if-match'] !== undefined) throw nothingToMatch(view)
  }
  requireCreatable(request)
  const record = await createRecord(service, request, nested, creation, errors).catch((error: unknown) => {
    throw error instanceof ApiError && error.code === 'conflict' ? new ConcurrentConflict(error) : error
  })
  return { isNew: true, record }
}

/**
 * Finds the visible record with these values, and locks it. If it is a node of a tree, locks the tree first, as other writes
 * of nodes do.
 * @returns the last segment of its path; undefined if there is none
 * @throws {ApiError} `conflict` if there are several, as without a constraint in the database; `bad-values` for a value that
 * the database cannot read
 */
async function findRecord(
  { store, session }: TransactionRequest,
  fields: ConflictFields,
  values: readonly unknown[],
): Promise<string | undefined> {
  const { view, dataSource } = store
  const names = namesOf(fields).join(' and ')
  const query = conflictQuery(view, fields, values)
  const lock = async (inner: DbTransaction): Promise<readonly RawRow[]> => {
    await store.writer.lockTable?.(inner, store)
    return lockTwoKeys(inner, store, query)
  }
  const [found, other] = await runInSavepoint(session, lock).catch((error: unknown) => {
    if (violationOf(error, dataSource, view.metadata) === undefined) throw error
    throw new ApiError('bad-values', `the database does not accept the value of ${names}`)
  })
  if (other !== undefined) throw new ApiError('conflict', `several ${view.name} records have the same ${names}`)
  return found && segmentOf(store, found)
}

/** @returns undefined if the principal cannot see the record any more */
async function updateFound(
  service: Service,
  request: TransactionRequest,
  body: NestedBody,
): Promise<WrittenRecord | undefined> {
  try {
    const record = await readAndUpdate(service, request, body)
    if (record === undefined) throw await refusalOf(request, 'update')
    return record
  } catch (error) {
    // The row scope depends on other records, which may have changed since the record was found.
    if (error instanceof ApiError && error.code === 'not-found') return undefined
    throw error
  }
}

/** The body without the values that the record already has. Within embedded entities they are kept. */
function withoutFields(body: NestedBody, fields: ConflictFields): NestedBody {
  const names = new Set(namesOf(fields))
  return { ...body, fields: new Map([...body.fields].filter(([name]) => !names.has(name))) }
}
