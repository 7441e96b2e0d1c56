import type { DbSession } from '../../connection/db-session'
import { afterLoad } from '../../read/after-load'
import { type IncludedRow, parentText } from '../../read/included'
import { readNestedKeys } from '../../read/nested-keys'
import { fieldValue, keyId, type Row } from '../../read/row'
import type { Store } from '../../read/store'
import type { NestedList } from '../../schema/resource-view'
import type { FoundRecord } from '../item'
import type { NestedParent, Nesting } from './nesting'
import { readNamedRecords } from './rows'

/** Stored related record. */
export interface StoredRecord extends FoundRecord {
  /** The values after `@AfterLoad` listeners. */
  readonly shown: Row
}

/** Stored related records of one parent that the principal may see. */
export interface StoredRecords {
  /**
   * By {@link keyId}: those that the body names by their keys; if the resource has an owner, also those that the write would
   * delete.
   */
  readonly records: ReadonlyMap<string, StoredRecord>
  /** The keys of all stored records; undefined if those that the body does not name are kept. */
  readonly keys: readonly unknown[] | undefined
}

/** Parent with the keys of the related records that the body names. */
export interface NamingParent {
  readonly parent: NestedParent
  readonly keys: readonly unknown[]
}

/** The stored related records of a new parent: none. */
export const noRecords: StoredRecords = { records: new Map(), keys: undefined }

/**
 * Reads the stored related records of several parents, for all parents at once.
 * @returns those of each parent, in the same order; none for new parents
 * @throws {ApiError} `conflict`, `bad-body`, `bad-values`, `unavailable`
 */
export async function readStored(
  { request, service: { limits }, related, replaces }: Nesting,
  relation: NestedList,
  parents: readonly NamingParent[],
): Promise<readonly StoredRecords[]> {
  const { session } = request
  const { store } = related(relation.target)
  const { view } = store
  const [first] = parents
  if (first === undefined) return []
  const textOf = parentText(first.parent.store)
  const texts = parents.map(({ parent: { raw } }) => raw && textOf(raw))
  const parentKeys = new Map(
    parents.flatMap(({ parent }, index) => (texts[index] === undefined ? [] : [[texts[index], parent.key] as const])),
  )
  const lists = { store, relation, parent: first.parent.store, keys: parentKeys }
  const storedKeys = replaces ? await readNestedKeys(session, lists, limits.nested) : undefined
  // The owner decides whether a record may be deleted, so those that the body does not name are read too.
  const keysToDelete = view.owner === undefined ? [] : [...(storedKeys?.values() ?? [])].flat()
  const keys = new Map([...parents.flatMap((one) => one.keys), ...keysToDelete].map((key) => [keyId(view, key), key]))
  const rows = await readNamedRecords(request, limits, lists, [...keys.values()])
  const byParent = await buildRecords(session, store, rows)
  return texts.map((text) => {
    if (text === undefined) return noRecords
    return { records: byParent.get(text) ?? new Map(), keys: storedKeys && (storedKeys.get(text) ?? []) }
  })
}

/** Builds the records of rows. @returns them by the texts of their parents and by {@link keyId} */
async function buildRecords(
  session: DbSession,
  { view, selected }: Store,
  rows: readonly IncludedRow[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, StoredRecord>>> {
  const values = rows.map(({ raw }) => selected.entityColumns.readRow(raw))
  const shown = await afterLoad(session, view, values)
  const byParent = new Map<string, Map<string, StoredRecord>>()
  for (const [index, { parent, raw }] of rows.entries()) {
    const row = values[index] ?? []
    const key = fieldValue(view, row, view.key)
    const owner = view.owner && fieldValue(view, row, view.owner)
    const target = { action: 'update', key, owner, requireUnchanged: undefined } as const
    const records = byParent.get(parent) ?? new Map<string, StoredRecord>()
    byParent.set(parent, records)
    records.set(keyId(view, key), { raw, row, shown: shown[index] ?? row, target })
  }
  return byParent
}
