import type { Store } from '../../read/store'
import type { NestedLinks, NestedList } from '../../schema/resource-view'
import type { Change } from '../change'
import type { WriteStore, WriteTarget } from '../write-store'

/**
 * Write of one record and of the related records in its body, checked as far as possible without a transaction
 * (specification: Nested writes).
 */
export interface PlannedRecord {
  readonly store: WriteStore
  /** Path in the body: `lines[1]`; empty for the record of the request. */
  readonly path: string
  /** An update without values writes nothing. The values of a new related record do not contain the key of its parent. */
  readonly change: Change
  /** Undefined for a new record. */
  readonly target: WriteTarget | undefined
  readonly members: readonly PlannedMember[]
}

export type PlannedMember = PlannedList | PlannedLinks

/** Writes of the related records of one parent. */
export interface PlannedList {
  readonly type: 'list'
  readonly relation: NestedList
  /** Path of the member in the body: `lines`, or `orders[1].lines` at the second level. */
  readonly path: string
  /** Store of the related records. */
  readonly store: WriteStore
  readonly creates: readonly PlannedRecord[]
  readonly updates: readonly PlannedRecord[]
  readonly deletes: readonly WriteTarget[]
  /** Stored records that the body names without a change. */
  readonly unchanged: readonly WriteTarget[]
  /**
   * Keys of the related records that the principal could see when the write was planned; undefined if those that are not in
   * the body are left as they are.
   */
  readonly replaced: readonly unknown[] | undefined
}

/** The related records of one parent, by a many-to-many relation, that the principal may see. */
export interface PlannedLinks {
  readonly type: 'links'
  readonly relation: NestedLinks
  /** Path of the member in the body: `tag_ids`. */
  readonly path: string
  /** Store of the related records. */
  readonly store: Store
  /** The keys, with their positions in the body. */
  readonly keys: readonly { readonly key: unknown; readonly index: number }[]
  /** Whether a related record had the same links when the write was planned: then the write may not change them. */
  readonly isUnchanged: boolean
}

/**
 * Whether a write changes a record: its fields, its links, or its related records. Owners, permissions and row scopes apply
 * to a record that is changed.
 */
export function isChanged({ change, target, members }: PlannedRecord): boolean {
  return target === undefined || change.values.size > 0 || members.some(isChangedMember)
}

function isChangedMember(member: PlannedMember): boolean {
  if (member.type === 'links') return !member.isUnchanged
  return member.creates.length > 0 || member.deletes.length > 0 || member.updates.some(isChanged)
}

/** A planned record and all records that are written with it. */
export function recordsIn(record: PlannedRecord): readonly PlannedRecord[] {
  return [
    record,
    ...record.members.flatMap((member) =>
      member.type === 'list' ? [...member.updates, ...member.creates].flatMap(recordsIn) : [],
    ),
  ]
}

/** The members of some type, each with its parent, grouped by their relations: one statement can serve all parents. */
export function membersOf<Type extends PlannedMember['type']>(
  parents: readonly PlannedRecord[],
  type: Type,
): readonly (readonly (readonly [parent: PlannedRecord, member: Extract<PlannedMember, { readonly type: Type }>])[])[] {
  type Member = Extract<PlannedMember, { readonly type: Type }>
  const isOfType = (member: PlannedMember): member is Member => member.type === type
  const groups = new Map<PlannedMember['relation'], (readonly [PlannedRecord, Member])[]>()
  for (const parent of parents) {
    for (const member of parent.members.filter(isOfType)) {
      const group = groups.get(member.relation) ?? []
      groups.set(member.relation, group)
      group.push([parent, member])
    }
  }
  return [...groups.values()]
}

/** Groups records by their resource: one statement can serve all records of a group. */
export function groupByStore<T extends { readonly store: WriteStore }>(
  records: readonly T[],
): ReadonlyMap<WriteStore, readonly T[]> {
  const groups = new Map<WriteStore, T[]>()
  for (const record of records) {
    const group = groups.get(record.store) ?? []
    groups.set(record.store, group)
    group.push(record)
  }
  return groups
}
