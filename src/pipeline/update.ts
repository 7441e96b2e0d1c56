import { isInTransaction, runSharedTransaction } from '../connection/statement'
import { parseUpdate } from '../query/change-set'
import { parseKey } from '../query/item-query'
import { ownerKey } from '../query/owner'
import { afterLoad } from '../read/after-load'
import { keyId } from '../read/row'
import { hasRowConditions, readItemsInOrder } from '../read/select'
import type { ResourceView } from '../schema/resource-view'
import { lockTreesOf } from '../write/lock-trees'
import { requireReferences } from '../write/references'
import { renderWritten } from '../write/transactional-writer'
import { updateWithoutRead } from '../write/update-without-read'
import { renderAfterLoad, updateRow } from '../write/write'
import type { WriteTarget, WrittenRecord } from '../write/write-store'
import { hashPasswords } from './hash-passwords'
import { requireWriteTarget } from './item'
import { type NestedBody, writeWithRelated } from './nested/nested-body'
import { planUpdate } from './plan-update'
import { repeatIfChanged } from './repeat-if-changed'
import type { PermittedRequest, Service } from './service'

/**
 * Maximum size of a record that is updated without being read first, in bytes. A larger record is read first, to
 * reserve memory for the response.
 */
const maxUnreadBytes = 64 * 1024

/**
 * Updates a record with one statement, without reading it first, if all fields of the body allow this and all values
 * are valid.
 * @returns undefined if nothing was updated; call {@link readAndUpdate} then, which updates the record or throws the
 * refusal
 */
export async function updateInOneStatement(
  request: PermittedRequest,
  body: NestedBody,
): Promise<WrittenRecord | undefined> {
  const { store, session, headers } = request
  const isConditional = headers['if-match'] !== undefined || headers['if-none-match'] !== undefined
  if (isConditional || body.fields.size === 0 || body.members.length > 0) return undefined
  // Change events contain only fields whose values differ, so the stored values must be read.
  if (session.observer.needsTransaction) return undefined
  // A record that the principal may not see or write is refused after it is read.
  if (hasRowConditions(store, 'update')) return undefined
  for (const name of body.fields.keys()) if (!store.fieldsWithoutRead.has(name)) return undefined
  const target = targetOf(request)
  if (target === undefined) return undefined
  const errors = body.newErrors()
  const { changes } = parseUpdate(store.view, body.fields, () => undefined, errors)
  return errors.isEmpty ? updateWithoutRead(session, store, target, changes) : undefined
}

/**
 * Target of an update without a read. The owner of the record must be the principal.
 * @returns undefined if the path or the principal has no valid key
 */
function targetOf({ store, segment = '', principal }: PermittedRequest): WriteTarget | undefined {
  const key = parseKey(store.view, segment)
  if (key === undefined) return undefined
  try {
    return {
      action: 'update',
      key,
      owner: ownerKey(store.view, principal),
      requireUnchanged: undefined,
      maxBytes: maxUnreadBytes,
    }
  } catch {
    // The id of the principal is not a key of a user. `readAndUpdate` reports this mistake of the application, but only
    // if the record exists.
    return undefined
  }
}

/**
 * Reads a record, and updates the fields whose values in the body differ from the shown ones.
 * @returns undefined if the record was deleted in the meantime
 * @throws {ApiError} for every refusal
 */
export async function readAndUpdate(
  service: Service,
  request: PermittedRequest,
  body: NestedBody,
): Promise<WrittenRecord | undefined> {
  return repeatIfChanged((attempt) =>
    attempt > 0 || isWaitedFor(service, request)
      ? updateAlone(service, request, body)
      : updateOnce(service, request, body),
  )
}

/** Whether updates of the record wait in the queue. A new one must wait for them: otherwise, they could be repeated too often. */
function isWaitedFor({ updates }: Service, { store: { view }, segment = '' }: PermittedRequest): boolean {
  if (updates.isEmpty) return false
  const key = parseKey(view, segment)
  return key !== undefined && updates.has(queueKey(view, key))
}

/** Key of a record in the queue of updates. */
function queueKey(view: ResourceView, key: unknown): string {
  return `${view.name} ${keyId(view, key)}`
}

/**
 * Updates a record while no other request updates it. Requests that write the same records then wait for each other instead of
 * repeating their work. If all requests share one connection, they wait in a queue of this process,
 * because validators of the application must not wait for a transaction on this connection. Otherwise the row is locked. This
 * is not done for the first attempt, because validators then run in the transaction.
 */
function updateAlone(
  service: Service,
  request: PermittedRequest,
  body: NestedBody,
): Promise<WrittenRecord | undefined> {
  const { store, session, segment = '' } = request
  const { view, dialect } = store
  const key = parseKey(view, segment)
  if (key === undefined || isInTransaction(session)) return updateOnce(service, request, body)
  if (dialect.sharesConnection) {
    return service.updates.run(queueKey(view, key), () => updateOnce(service, request, body))
  }
  return runSharedTransaction(
    session,
    async (inner) => {
      await lockTreesOf(inner, [store])
      await readItemsInOrder(inner, store, [key], 'key', { lock: 'update', condition: 'none' })
      return updateOnce(service, { ...request, session: inner }, body)
    },
    dialect.checkedWriteIsolation,
  )
}

/** @throws {ChangedError} if a value that decided the update was changed after the record was read */
async function updateOnce(
  service: Service,
  request: PermittedRequest,
  body: NestedBody,
): Promise<WrittenRecord | undefined> {
  const { store, session } = request
  const { view } = store
  const found = await requireWriteTarget(request, 'update', 'entityColumns')
  const [row = found.row] = await afterLoad(session, view, [found.row])
  const errors = body.newErrors()
  const { change, target } = await planUpdate(store, found, row, body.fields, errors)
  if (body.members.length > 0) {
    return writeWithRelated(request, body, { change, target, raw: found.raw, key: found.target.key }, errors)
  }
  await requireReferences(session, store, change, errors)
  const { values } = change
  if (values.size === 0) return renderAfterLoad(store, renderWritten(store, found.raw), row)
  return updateRow(session, store, target, { ...change, values: await hashPasswords(service, request, values) })
}
