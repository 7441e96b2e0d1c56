import { transientErrorOf } from '../connection/database-error'
import type { DbSession } from '../connection/db-session'
import { runFallible, WriteError } from '../connection/statement'
import type { ChangeSet } from '../query/query'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { isReturned } from './direct-writer'
import { mayNeedLookup } from './reference-lookups'
import type { WriteStore, WriteTarget, WrittenRecord } from './write-store'

/**
 * Names of the fields that PUT can update without reading the row first. The stored value is not needed to check the new
 * one, and the JSON of a value is exact, so that a value that is sent back as it was read does not change the stored one
 * (specification: Sending back what was read, Date-times).
 */
export function findFieldsWithoutRead(
  store: Pick<WriteStore, keyof Store | 'uncheckedReferences'>,
): ReadonlySet<string> {
  const { view } = store
  if (!canUpdateDirectly(view) || !isReturned(store, 'update')) return new Set()
  const { writableFields, key, owner, references } = view
  const lookedUp = references.filter((field) => mayNeedLookup(store, field))
  const excludedFields = [key, ...(owner ? [owner] : []), ...lookedUp]
  const excludedColumns = new Set(excludedFields.flatMap(({ columns }) => columns))
  const isWritableWithoutRead = ({ updatable, password, path, valueType, columns }: Field): boolean =>
    updatable &&
    !password &&
    path.length === 1 &&
    valueType.exact === true &&
    !columns.some((one) => excludedColumns.has(one))
  return new Set([...writableFields].filter(([, field]) => isWritableWithoutRead(field)).map(([name]) => name))
}

/**
 * Whether an update of the resource needs nothing but the statement: no listeners, no validators, no `If-Match`, no tree,
 * and no columns that every UPDATE changes, such as `@VersionColumn`.
 */
function canUpdateDirectly(view: ResourceView): boolean {
  const { metadata, lifecycle, validate, requireIfMatch, owner } = view
  const { tableType, treeType, columns } = metadata
  const changesOnUpdate = columns.some(({ isVersion, isUpdateDate, onUpdate }) => isVersion || isUpdateDate || onUpdate)
  if (tableType !== 'regular' || treeType !== undefined || changesOnUpdate) return false
  if (lifecycle.load || lifecycle.write || validate !== undefined || requireIfMatch) return false
  // The statement compares the owner in SQL, where the collation may let different texts be equal.
  return owner === undefined || owner.valueType.name === 'integer'
}

/**
 * Updates a record with one statement, without reading it first.
 * @returns undefined if nothing was written: there is no record for the target, it has more than `target.maxBytes`
 * bytes, or the statement failed with an error that is not transient. The caller then reads the record to find out
 * which
 * @throws the driver's error if it is transient
 */
export async function updateWithoutRead(
  session: DbSession,
  store: WriteStore,
  target: WriteTarget,
  changes: ChangeSet,
): Promise<WrittenRecord | undefined> {
  try {
    return await runFallible(session, (inner) => store.writer.update(inner, store, target, changes))
  } catch (error) {
    if (!(error instanceof WriteError)) throw error
    if (transientErrorOf(error.cause, store.dataSource) !== undefined) throw error.cause
    return undefined
  }
}
