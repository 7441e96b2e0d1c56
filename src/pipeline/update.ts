import { FieldErrors, unavailable } from '../errors'
import { type ParsedUpdate, parseUpdate, type ShownValue } from '../query/change-set'
import { parseKey } from '../query/item-query'
import { ownerKey } from '../query/owner'
import { afterLoad } from '../read/after-load'
import { renderField } from '../read/record'
import type { Row } from '../read/row'
import type { Body } from '../request/body'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { ReadColumn } from '../schema/stored-column'
import { requireReferences } from '../write/references'
import { renderWritten } from '../write/transactional-writer'
import { updateWithoutRead } from '../write/update-without-read'
import { validateChanges } from '../write/validate'
import { renderAfterLoad, updateRow } from '../write/write'
import type { WriteTarget, WrittenRecord } from '../write/write-store'
import { hashPasswords } from './hash-passwords'
import { ChangedError, requireWriteTarget, requiringUnchanged } from './item'
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
export async function updateInOneStatement(request: PermittedRequest, body: Body): Promise<WrittenRecord | undefined> {
  const { store, session, headers } = request
  const isConditional = headers['if-match'] !== undefined || headers['if-none-match'] !== undefined
  if (isConditional || body.size === 0) return undefined
  for (const name of body.keys()) if (!store.fieldsWithoutRead.has(name)) return undefined
  const target = targetOf(request)
  if (target === undefined) return undefined
  const errors = new FieldErrors()
  const { changes } = parseUpdate(store.view, body, () => undefined, errors)
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
  body: Body,
): Promise<WrittenRecord | undefined> {
  for (let attempt = 0; attempt < updateAttempts; attempt++) {
    try {
      return await updateOnce(service, request, body)
    } catch (error) {
      if (!(error instanceof ChangedError)) throw error
    }
  }
  throw unavailable('other requests have changed the record during each attempt to update it; try again')
}

/** Maximum number of attempts to update a record that other requests change at the same time. */
const updateAttempts = 5

/** @throws {ChangedError} if a value that decided the update was changed after the record was read */
async function updateOnce(service: Service, request: PermittedRequest, body: Body): Promise<WrittenRecord | undefined> {
  const { store, session } = request
  const { view } = store
  const found = await requireWriteTarget(request, 'update', 'entityColumns')
  const [row = found.row] = await afterLoad(session, view, [found.row])
  const errors = new FieldErrors()
  const update = parseUpdate(view, body, shownIn(view, row), errors)
  const { changes } = update
  await validateChanges(view, row, changes, errors)
  const change = { action: 'update', values: changes, stored: row } as const
  await requireReferences(session, store, change, errors)
  if (changes.size === 0) return renderAfterLoad(store, renderWritten(store, found.raw), row)
  const target = requiringUnchanged(store, found, decidingColumns(view, update))
  return updateRow(session, store, target, { ...change, values: await hashPasswords(service, request, changes) })
}

/**
 * Columns whose stored values decide what an update writes: those that are not written because the body has the stored
 * value, the columns of references that are written in part, and for validators all columns. Without this check, two
 * updates at the same time could store a record that neither of them allows.
 */
function decidingColumns(
  { validate, entityColumns, outputFields }: ResourceView,
  { changes, kept }: ParsedUpdate,
): readonly ReadColumn[] {
  if (validate !== undefined) return entityColumns.filter(({ column }) => !column.isVirtualProperty)
  const written = new Set<ReadColumn>([...changes.keys()].flatMap(({ columns }) => columns))
  const isPartlyWritten = ({ relation, columns }: Field): boolean =>
    relation !== undefined && columns.length > 1 && columns.some((column) => written.has(column))
  return [...kept, ...outputFields.filter(isPartlyWritten)].flatMap(({ columns }) => columns)
}

/** Values that a record shows; undefined for hidden fields. */
function shownIn(view: ResourceView, row: Row): ShownValue {
  return (field) => (view.outputFields.includes(field) ? renderField(view, row, field) : undefined)
}
