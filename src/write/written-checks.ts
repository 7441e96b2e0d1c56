import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { FieldErrors } from '../errors'
import { hasRowConditions, readItemsInOrder } from '../read/select'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { Change } from './change'
import { changedReferences, incompleteReferences } from './changed-references'
import { needsLookup, refersToRestricted } from './reference-lookups'
import { checkManyReferences, checkReferences } from './references'
import type { WriteStore } from './write-store'

/** Whether a write needs a check of the written record, or of the records to which it refers. */
export function needsCheck(store: WriteStore, change: Change): boolean {
  return (
    hasRowConditions(store, change.action) ||
    changedReferences(store.view, change, (field) => refersToRestricted(store, field)).length > 0 ||
    referencesToComplete(store, change).length > 0
  )
}

/** The foreign keys of a new record for which the constraint of the database is not enough, and that are not complete yet. */
function referencesToComplete(store: WriteStore, change: Change): readonly Field[] {
  return incompleteReferences(store.view, change, (field) => needsLookup(store, field))
}

/** Record that was written, and what receives its errors. */
export interface CheckedRecord {
  readonly change: Change
  /** The written row; undefined if the record itself was not written. */
  readonly raw: RawRow | undefined
  readonly errors: FieldErrors
}

/**
 * Checks the foreign keys of new records that could not be checked before the write ({@link incompleteReferences}): all their
 * columns are read from the written rows.
 */
export async function checkCompletedReferences(
  session: DbSession,
  store: WriteStore,
  records: readonly CheckedRecord[],
): Promise<void> {
  const { view, selected } = store
  const written = records.flatMap(({ raw, ...record }) => {
    const fields = referencesToComplete(store, record.change)
    return raw === undefined || fields.length === 0 ? [] : [{ ...record, raw, fields }]
  })
  const fields = new Set(written.flatMap((record) => record.fields))
  if (fields.size === 0) return
  const isRead = [...fields].every(({ columns }) => columns.every((column) => view.columns.includes(column)))
  const select = isRead ? 'columns' : 'entityColumns'
  const keys = written.map(({ raw }) => store.readKey(raw))
  const rows = isRead
    ? written.map(({ raw }) => raw)
    : await readItemsInOrder(session, store, keys, select, { condition: 'none' })
  const completed = written.map(({ change, ...record }, index) => {
    const raw = rows[index]
    return { ...record, change: { ...change, stored: raw && selected[select].readRow(raw) } }
  })
  for (const field of fields) {
    const withField = completed.filter((record) => record.fields.includes(field))
    await checkManyReferences(session, store, withField, (one) => one === field)
  }
}

/**
 * Requires that the principal may see the records to which a change refers.
 * @param errors errors of other checks. Default: none
 * @throws {ApiError} `bad-values` with all errors
 */
export async function requireVisibleReferences(
  session: DbSession,
  store: Store,
  change: Change,
  errors = new FieldErrors(),
): Promise<void> {
  await checkReferences(session, store, change, errors, (field) => refersToRestricted(store, field))
  errors.raise('bad-values')
}

/** Text of the refusal of a written record that the principal may not see, or whose new values `may` does not permit. */
export function refusalOf({ action }: Change, { name }: ResourceView): string {
  if (action === 'restore') return `you may not see this ${name} when it is restored`
  return action === 'create'
    ? `you may not create this ${name} with these values`
    : `you may not change the ${name} to these values`
}
