import type { FieldErrors } from '../../errors'
import type { LinksBody, ListBody, MemberBody } from '../../query/nested-body'
import { keyId, matchingIds } from '../../read/matching-keys'
import type { NestedLinks, NestedList } from '../../schema/resource-view'
import type { PlannedLinks, PlannedList, PlannedMember } from '../../write/nested/planned'
import { relatedStore } from '../included-rows'
import type { NestedParent, Nesting, ParentMember } from './nesting'
import { requireWritable } from './permission'
import { deletionsIn, nameRecords, planRecords } from './records'
import { readStored } from './stored'

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
  const named = members.map((one) => nameRecords(relation, one, errors))
  const naming = members.map(({ parent }, index) => ({
    parent,
    keys: (named[index] ?? []).flatMap(({ key }) => (key === undefined ? [] : [key])),
  }))
  const stored = await readStored(nesting, relation, naming)
  const plans = []
  for (const [index, one] of members.entries()) {
    const [records = [], ofParent = noRecords] = [named[index], stored[index]]
    const drafts = await planRecords(nesting, relation, one.parent, records, ofParent, errors)
    plans.push({ drafts, deletes: deletionsIn(relation, one, records, ofParent), replaced: ofParent.keys })
  }
  const allDrafts = plans.flatMap(({ drafts }) => drafts)
  const deletes = plans.flatMap((plan) => plan.deletes)
  if (deletes.length > 0) access.require(target, 'delete')
  const changed = allDrafts.flatMap(({ checked, change }) => (change.values.size > 0 && checked ? [checked] : []))
  await requireWritable(request, resource, 'update', changed)
  await requireWritable(request, resource, 'delete', deletes)
  const inner = await planMembers(
    nesting,
    allDrafts.map(({ parent }) => parent),
    errors,
  )
  return plans.map(({ drafts, deletes: ofPlan, replaced }): PlannedList => {
    const all = drafts.map(({ parent, change, checked }) => ({
      store: resource.store,
      path: parent.body.path,
      change,
      target: checked?.target,
      members: inner.get(parent) ?? [],
    }))
    return {
      type: 'list',
      relation,
      store: resource.store,
      creates: all.filter((record) => record.target === undefined),
      updates: all.filter(
        ({ target: own, change, members: ownMembers }) => own && change.values.size + ownMembers.length > 0,
      ),
      deletes: ofPlan.map((one) => one.target),
      replaced,
    }
  })
}

const noRecords = { records: new Map(), keys: undefined }

/** Checks that the records to link exist and that the principal may follow a relation to them. */
async function planLinks(
  { request: { session, store: requestStore } }: Nesting,
  relation: NestedLinks,
  members: readonly ParentMember<LinksBody>[],
  errors: FieldErrors,
): Promise<readonly PlannedLinks[]> {
  const keys = members.flatMap(({ member }) => member.keys.map(({ key }) => key))
  const { target } = relation
  const store = relatedStore(requestStore, target)
  if (target.isGuarded && keys.length > 0) await store.policies?.checkAccess([target])
  const ids = await matchingIds(session, store, keys, 'related')
  return members.map(({ member: { path, keys: own } }): PlannedLinks => {
    for (const { key, index } of own) {
      if (!ids.has(keyId(target, key))) errors.add(`${path}[${index}]`, `points to no ${target.name}`)
    }
    return { type: 'links', relation, path, store, keys: own }
  })
}
