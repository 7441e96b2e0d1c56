import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { ChangeSet } from '../query/query'
import { buildJsonRenderer } from '../read/json-value'
import { readItemsInOrder } from '../read/select'
import { narrowStore, type Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { writtenValues } from './changed-references'

// Records that the database has stored may be impossible to show: a transformer may throw, and the expression of a virtual
// column may fail. Lists with such a record would fail, so it must not be stored.

/** Number of records whose virtual columns one statement reads. */
const chunkSize = 20

const isTransformed = ({ columns }: Field): boolean =>
  columns.some(({ valueColumn }) => valueColumn.transformer !== undefined)

const isVirtual = ({ columns }: Field): boolean => columns.some(({ column }) => column.isVirtualProperty)

/** The fields with a transformer that a change writes. */
function transformedFields({ outputFields }: ResourceView, changes: ChangeSet): readonly Field[] {
  const written = writtenValues(changes)
  return outputFields.filter((field) => isTransformed(field) && field.columns.some((column) => written.has(column)))
}

/** Whether it must be checked that records can be shown after a change. */
export function mayBeUnreadable(view: ResourceView, changes: ChangeSet): boolean {
  return view.outputFields.some(isVirtual) || transformedFields(view, changes).length > 0
}

/**
 * Requires that records can be shown after a change that has set all of them to the same values.
 * @throws {UnreadableError}
 * @throws the driver's error if a virtual column cannot be computed
 */
export async function requireReadable(
  session: DbTransaction,
  store: Store,
  keys: readonly unknown[],
  changes: ChangeSet,
): Promise<void> {
  const { view } = store
  // The transformer gets the same value for each record.
  await readFields(session, store, keys.slice(0, 1), transformedFields(view, changes))
  const virtual = view.outputFields.filter(isVirtual)
  for (let start = 0; start < keys.length; start += chunkSize) {
    await readFields(session, store, keys.slice(start, start + chunkSize), virtual)
  }
}

async function readFields(
  session: DbTransaction,
  store: Store,
  keys: readonly unknown[],
  fields: readonly Field[],
): Promise<void> {
  if (fields.length === 0) return
  const { outputFields, key } = store.view
  const selected = outputFields.filter((field) => field === key || fields.includes(field))
  const cacheKey = selected.map((field) => outputFields.indexOf(field)).join()
  const narrow = narrowStore(store, { fields: selected, cacheKey })
  const rows = await readItemsInOrder(session, narrow, keys, 'columns', { condition: 'none' })
  for (const raw of rows) if (raw !== undefined) narrow.rawRenderer.toRecord(raw)
}

/**
 * Returns a function that requires that a stored row can be shown; undefined if no transformer is called for rows.
 * The function throws {@link UnreadableError}.
 */
export function readCheckOf({ view, dataSource }: Store): ((raw: RawRow) => void) | undefined {
  const renderers = view.outputFields.filter(isTransformed).map((field) => buildJsonRenderer(field, view, dataSource))
  if (renderers.length === 0) return undefined
  return (raw) => {
    for (const render of renderers) render(raw)
  }
}
