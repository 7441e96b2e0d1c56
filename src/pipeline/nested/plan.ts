import type { DbSession } from '../../connection/db-session'
import type { FieldErrors } from '../../errors'
import type { LinksBody, ListBody, MemberBody } from '../../query/nested-body'
import { parentText } from '../../read/included'
import { matchingIds } from '../../read/matching-keys'
import { readNestedKeys } from '../../read/nested-keys'
import { keyId } from '../../read/row'
import type { Store } from '../../read/store'
import type { NestedLinks, NestedList } from '../../schema/resource-view'
import {
  isChanged,
  type PlannedLinks,
  type PlannedList,
  type PlannedMember,
  type PlannedRecord,
} from '../../write/nested/planned'
import { relatedStore } from '../included-rows'
import type { NestedParent, Nesting, ParentMember } from './nesting'
import { type CheckedTarget, requireWritable } from './permission'
import { type DraftRecord, deletionsIn, nameRecords, planRecords } from './records'
import { noRecords, readStored } from './stored'

/**
 * Plans the writes of the related records of several parents: reads the stored ones, and checks the bodies, permissions
 * and owners (specification: Nested writes). One statement serves all parents.
 * @param errors receives every error in the bodies
 * @returns the members of each parent
 * @throws {ApiError} `unauthorized`, `forbidden`, `not-owner`, `conflict`
 */
export async function planMembers(
  nesting: Nesting,
  parents: readonly NestedParent[],
  errors: FieldErrors,
): Promise<ReadonlyMap<NestedParent, readonly PlannedMember[]>> {
  const planned = new Map(parents.map((parent) => [parent, [] as PlannedMember[]]))
  const add = (members: readonly ParentMember<unknown>[], plans: readonly PlannedMember[]): void => {
    for (const [index, plan] of plans.entries()) planned.get(members[index]?.parent as NestedParent)?.push(plan)
  }
  const relations = parents[0]?.store.view.nested().values() ?? []
  for (const relation of relations) {
    if (relation.type === 'list') {
      const members = membersOf<ListBody>(parents, relation)
      add(members, await planLists(nesting, relation, members, errors))
    } else {
      const members = membersOf<LinksBody>(parents, relation)
      add(members, await planLinks(nesting, relation, members, errors))
    }
  }
  return planned
}

/** The members of the bodies for a relation. */
function membersOf<Member extends MemberBody>(
  parents: readonly NestedParent[],
  relation: Member['relation'],
): readonly ParentMember<Member>[] {
  const isOf = (member: MemberBody): member is Member => member.relation === relation
  return parents.flatMap((parent) => parent.body.members.filter(isOf).map((member) => ({ parent, member })))
}

async function planLists(
  nesting: Nesting,
  relation: NestedList,
  members: readonly ParentMember<ListBody>[],
  errors: FieldErrors,
): Promise<readonly PlannedList[]> {
  if (members.length === 0) return []
  const { access, request } = nesting
  const { target } = relation
  const resource = nesting.related(target)
  const { store } = resource
  const named = members.map((one) => nameRecords(relation, one, errors))
  const parents = members.map(({ parent }, index) => ({
    parent,
    keys: (named[index] ?? []).flatMap(({ key }) => (key === undefined ? [] : [key])),
  }))
  const stored = await readStored(nesting, relation, parents)
  const plans = []
  for (const [index, one] of members.entries()) {
    const [records = [], ofParent = noRecords] = [named[index], stored[index]]
    const drafts = await planRecords(nesting, relation, one.parent, records, ofParent, errors)
    plans.push({
      path: one.member.path,
      drafts,
      deletes: deletionsIn(relation, one, records, ofParent),
      replaced: ofParent.keys,
    })
  }
  const allDeletes = plans.flatMap(({ deletes }) => deletes)
  if (allDeletes.length > 0) access.require(target, 'delete')
  const drafted = plans.flatMap(({ drafts }) => drafts.map(({ parent }) => parent))
  const membersOfDrafts = await planMembers(nesting, drafted, errors)
  const changed: CheckedTarget[] = []
  const planRecord = ({ parent, change, checked }: DraftRecord): PlannedRecord => {
    const members = membersOfDrafts.get(parent) ?? []
    const record = { store, path: parent.body.path, change, target: checked?.target, members }
    if (checked !== undefined && isChanged(record)) changed.push(checked)
    return record
  }
  const planned = plans.map(({ path, drafts, deletes, replaced }): PlannedList => {
    const records = drafts.map(planRecord)
    return {
      type: 'list',
      relation,
      path,
      store,
      creates: records.filter((record) => record.target === undefined),
      updates: records.filter((record) => record.target !== undefined && mayWrite(record)),
      deletes: deletes.map((one) => one.target),
      unchanged: records.flatMap((record) => (record.target === undefined || mayWrite(record) ? [] : [record.target])),
      replaced,
    }
  })
  await requireWritable(request, resource, 'update', changed)
  await requireWritable(request, resource, 'delete', allDeletes)
  return planned
}

/** Whether the write of a stored record may change anything. */
function mayWrite({ change, members }: PlannedRecord): boolean {
  return change.values.size + members.length > 0
}

/**
 * Checks that the records to link exist and that the principal may follow a relation to them, and compares the links of
 * related records with the stored ones. The links of the record of the request itself need no comparison: it always counts as
 * changed.
 */
async function planLinks(
  { request: { session, store: requestStore }, service: { limits } }: Nesting,
  relation: NestedLinks,
  members: readonly ParentMember<LinksBody>[],
  errors: FieldErrors,
): Promise<readonly PlannedLinks[]> {
  const keys = members.flatMap(({ member }) => member.keys.map(({ key }) => key))
  const { target } = relation
  const store = relatedStore(requestStore, target)
  // Also for members without keys: the stored links that they remove must be visible.
  if (target.isGuarded && members.length > 0) await store.policies?.checkAccess([target])
  const ids = await matchingIds(session, store, keys, 'related')
  const stored = await readLinks(session, store, relation, members, limits.nested)
  return members.map(({ parent, member: { path, keys: own } }): PlannedLinks => {
    for (const { key, index } of own) {
      if (!ids.has(keyId(target, key))) errors.add(`${path}[${index}]`, `points to no ${target.name}`)
    }
    const linked = stored.get(parent)
    const isUnchanged = linked?.size === own.length && own.every(({ key }) => linked.has(keyId(target, key)))
    return { type: 'links', relation, path, store, keys: own, isUnchanged }
  })
}

/**
 * Reads which records the stored related records among some parents are linked with, as far as the principal may see them.
 * @returns their {@link keyId} by parent
 * @throws {ApiError} `conflict` if there are more than `maxRecords`
 */
async function readLinks(
  session: DbSession,
  store: Store,
  relation: NestedLinks,
  members: readonly ParentMember<LinksBody>[],
  maxRecords: number,
): Promise<ReadonlyMap<NestedParent, ReadonlySet<string>>> {
  const stored = members.flatMap(({ parent }) => {
    const { raw, body } = parent
    return raw === undefined || body.path === '' ? [] : [{ parent, text: parentText(parent.store)(raw) }]
  })
  const [first] = stored
  if (first === undefined) return new Map()
  const parents = new Map(stored.map(({ parent, text }) => [text, parent.key]))
  const keys = await readNestedKeys(session, { store, relation, parent: first.parent.store, keys: parents }, maxRecords)
  return new Map(
    stored.map(({ parent, text }) => [
      parent,
      new Set((keys.get(text) ?? []).map((key) => keyId(relation.target, key))),
    ]),
  )
}
