import { afterLoad } from '../../read/after-load'
import { parentText } from '../../read/included'
import { keyId } from '../../read/matching-keys'
import { readNestedKeys } from '../../read/nested-keys'
import { fieldValue, type Row } from '../../read/row'
import type { NestedList } from '../../schema/resource-view'
import type { FoundRecord } from '../item'
import type { NestedParent, Nesting } from './nesting'
import { readNamedRecords } from './rows'

/** Stored related record. */
export interface StoredRecord extends FoundRecord {
  /** The record as `@AfterLoad` listeners show it. */
  readonly shown: Row
}

/** Stored related records of one parent that the principal may see. */
export interface StoredRecords {
  /** Those that the body names by their keys, and with owners also those that would be deleted, by {@link keyId}. */
  readonly records: ReadonlyMap<string, StoredRecord>
  /** The keys of all; undefined if those that the body does not name are left as they are. */
  readonly keys: readonly unknown[] | undefined
}

/** Parent with the keys of the related records that the body names. */
export interface NamingParent {
  readonly parent: NestedParent
  readonly keys: readonly unknown[]
}

const noRecords: StoredRecords = { records: new Map(), keys: undefined }

/**
 * Reads the stored related records of several parents, for all parents at once.
 * @returns those of each parent, in the same order; none for new parents
 * @throws {ApiError} `conflict`, `bad-body`, `bad-values`, `unavailable`
 */
export async function readStored(
  { request, service: { limits }, related, replaces }: Nesting,
  relation: NestedList,
  naming: readonly NamingParent[],
): Promise<readonly StoredRecords[]> {
  const { store } = related(relation.target)
  const [first] = naming
  if (first === undefined) return []
  const parentStore = first.parent.store
  const textOf = parentText(parentStore)
  const texts = naming.map(({ parent: { raw } }) => raw && textOf(raw))
  const parents = new Map(
    naming.flatMap(({ parent }, index) => (texts[index] === undefined ? [] : [[texts[index], parent.key] as const])),
  )
  const stored = replaces
    ? await readNestedKeys(request.session, store, relation, parentStore, parents, limits.nested)
    : undefined
  // The owner decides whether a record may be deleted.
  const deleted = store.view.owner === undefined ? [] : [...(stored?.values() ?? [])].flat()
  const keys = new Map([...naming.flatMap((one) => one.keys), ...deleted].map((key) => [keyId(store.view, key), key]))
  const rows = await readNamedRecords(request, limits, store, relation, parentStore, parents, [...keys.values()])
  const values = rows.map(({ raw }) => store.selected.entityColumns.readRow(raw))
  const shown = await afterLoad(request.session, store.view, values)
  const byParent = new Map<string, Map<string, StoredRecord>>()
  for (const [index, { parent, raw }] of rows.entries()) {
    const row = values[index] ?? []
    const key = fieldValue(store.view, row, store.view.key)
    const owner = store.view.owner && fieldValue(store.view, row, store.view.owner)
    const target = { action: 'update', key, owner, requireUnchanged: undefined } as const
    const records = byParent.get(parent) ?? new Map<string, StoredRecord>()
    byParent.set(parent, records)
    records.set(keyId(store.view, key), { raw, row, shown: shown[index] ?? row, target })
  }
  return texts.map((text) =>
    text === undefined
      ? noRecords
      : { records: byParent.get(text) ?? new Map(), keys: replaces ? (stored?.get(text) ?? []) : undefined },
  )
}
