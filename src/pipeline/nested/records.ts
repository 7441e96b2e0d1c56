import { pause } from '../../connection/pauses'
import { type FieldErrors, ValueError } from '../../errors'
import type { ListBody, RecordBody } from '../../query/nested-body'
import { keyId } from '../../read/row'
import type { NestedList } from '../../schema/resource-view'
import type { Change } from '../../write/change'
import { givenKey } from '../../write/nested/parent-key'
import { refusalAt } from '../../write/nested/refusal-at'
import type { NestedParent, Nesting, ParentMember } from './nesting'
import type { CheckedTarget } from './permission'
import { planCreation, planNestedUpdate } from './record'
import type { StoredRecord, StoredRecords } from './stored'

/** Body of a related record, and the key by which it names a stored one. */
export interface NamedRecord {
  readonly body: RecordBody
  /** Undefined for a new record. */
  readonly key: unknown
}

/** Planned write of a related record, before its own related records are planned. */
export interface DraftRecord {
  readonly change: Change
  /** The stored record; undefined for a new one. */
  readonly checked: CheckedTarget | undefined
  /** The record as the parent of its own related records. */
  readonly parent: NestedParent
}

/**
 * Reads the keys by which the bodies of a list name stored records. A new parent has none.
 * @param errors receives an error for each key that is not valid or occurs twice; its record is left out
 */
export function nameRecords(
  { target }: NestedList,
  { parent, member: { records } }: ParentMember<ListBody>,
  errors: FieldErrors,
): readonly NamedRecord[] {
  const { name, valueType } = target.key
  const ids = new Set<string>()
  return records.flatMap((body): readonly NamedRecord[] => {
    if (parent.raw === undefined || !body.fields.has(name)) return [{ body, key: undefined }]
    const key = errors.within(body.path).try(name, () => {
      const value = valueType.fromJson(body.fields.get(name))
      const id = keyId(target, value)
      if (ids.has(id)) throw new ValueError('is in the list twice')
      ids.add(id)
      return value
    })
    return key === undefined ? [] : [{ body, key }]
  })
}

/**
 * Plans the writes of the records in a list.
 * @param errors receives every error in the bodies
 * @throws {ApiError} `unauthorized`, `forbidden`, `not-owner`
 */
export async function planRecords(
  nesting: Nesting,
  relation: NestedList,
  parent: NestedParent,
  named: readonly NamedRecord[],
  { records }: StoredRecords,
  errors: FieldErrors,
): Promise<readonly DraftRecord[]> {
  const drafts: DraftRecord[] = []
  for (const { body, key } of named) {
    await pause(nesting.request.session)
    const stored = key === undefined ? undefined : records.get(keyId(relation.target, key))
    const planning =
      stored === undefined
        ? planNew(nesting, relation, parent, { body, key }, errors.within(body.path))
        : planStored(nesting, relation, parent, body, stored, errors.within(body.path))
    const draft = await planning.catch((error: unknown) => {
      throw refusalAt(error, body.path)
    })
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

async function planNew(
  nesting: Nesting,
  relation: NestedList,
  parent: NestedParent,
  { body, key }: NamedRecord,
  errors: FieldErrors,
): Promise<DraftRecord | undefined> {
  const { target } = relation
  // With a key that clients choose, the record may be a new one.
  if (key !== undefined && !target.key.insertable) {
    errors.add(target.key.name, `points to no ${target.name} of this ${parent.store.view.name}`)
    return undefined
  }
  nesting.access.require(target, 'create')
  const change = await planCreation(nesting, relation, parent, body, errors)
  const { store } = nesting.related(target)
  return { change, checked: undefined, parent: { store, body, raw: undefined, key: givenKey(target, change.values) } }
}

async function planStored(
  nesting: Nesting,
  relation: NestedList,
  parent: NestedParent,
  body: RecordBody,
  stored: StoredRecord,
  errors: FieldErrors,
): Promise<DraftRecord> {
  const { target: view } = relation
  nesting.access.require(view, 'update')
  const { change, target } = await planNestedUpdate(nesting, relation, parent, body, stored, errors)
  const { store } = nesting.related(view)
  return {
    change,
    checked: { target, stored, title: body.path },
    parent: { store, body, raw: stored.raw, key: stored.target.key },
  }
}

/** The stored records that are deleted because the body does not name them. */
export function deletionsIn(
  { target: view }: NestedList,
  { member }: ParentMember<ListBody>,
  named: readonly NamedRecord[],
  { keys = [], records }: StoredRecords,
): readonly CheckedTarget[] {
  const kept = new Set(named.flatMap(({ key }) => (key === undefined ? [] : [keyId(view, key)])))
  return keys.flatMap((key): readonly CheckedTarget[] => {
    const id = keyId(view, key)
    if (kept.has(id)) return []
    const stored = records.get(id)
    const target = { action: 'delete', key, owner: stored?.target.owner, requireUnchanged: undefined } as const
    const shown = JSON.stringify(view.key.valueType.toJson(key))
    return [{ target, stored, title: `${member.path} without the id ${shown}` }]
  })
}
