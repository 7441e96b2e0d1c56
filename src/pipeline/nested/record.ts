import { ApiError, type FieldErrors } from '../../errors'
import { parseInsert } from '../../query/change-set'
import type { RecordBody } from '../../query/nested-body'
import type { Presets } from '../../query/presets'
import type { ChangeSet } from '../../query/query'
import type { Field } from '../../schema/field'
import type { NestedList } from '../../schema/resource-view'
import type { Change } from '../../write/change'
import { fieldsOfParentKey, hasParentKey, parentKeyValues, sharesParentKey } from '../../write/nested/parent-key'
import { validateChanges } from '../../write/validate'
import { type PlannedUpdate, planUpdate } from '../plan-update'
import type { NestedParent, Nesting } from './nesting'
import type { StoredRecord } from './stored'

/** Placeholder for the values of the foreign key to the parent, which is written first. */
const parentKeyPlaceholder = Symbol('key of the parent')

/**
 * Parses and validates the body of a new related record.
 * @returns the change without the foreign key to the parent
 * @throws {ApiError} `forbidden`, `not-owner`
 */
export async function planCreation(
  { related, service }: Nesting,
  relation: NestedList,
  parent: NestedParent,
  { fields }: RecordBody,
  errors: FieldErrors,
): Promise<Change> {
  const { target, foreignKey } = relation
  const { store, presets: presetsOf, owner } = related(target)
  const { view, policies } = store
  if (policies?.permits(view, 'create') === false)
    throw new ApiError('forbidden', `you may not create this ${view.name}`)
  const full = service.resources.get(view.name)?.fullView.outputFields.find(({ name }) => name === foreignKey.name)
  // The option `readOnly` does not concern the service, which sets the foreign key, but the permission of the principal does.
  if (full?.insertable && !foreignKey.insertable) errors.add(foreignKey.name, 'is read-only and cannot be given')
  const presets = presetsOf()
  requirePresetParent(relation, parent, presets)
  const ofKey = fieldsOfParentKey(relation)
  const values = new Map([...presets.values, ...ofKey.map((field) => [field, parentKeyPlaceholder] as const)])
  const parsed = parseInsert(view, fields, owner(), { ...presets, values }, errors)
  const own = withoutParentKey(relation, parent, fields, parsed, errors)
  const key = parent.key === undefined ? [] : parentKeyValues(relation, parent.store.view, parent.key)
  const isUnknown = (field: Field): boolean => parent.key === undefined && sharesParentKey(relation, field)
  await validateChanges(view, undefined, new Map([...own, ...key]), errors, isUnknown)
  return { action: 'create', values: own, stored: undefined, presets: presets.values }
}

/**
 * Requires that the option `preset` does not give a new record another parent.
 * @throws {ApiError} `forbidden`
 */
function requirePresetParent(relation: NestedList, parent: NestedParent, { values, overriding }: Presets): void {
  for (const field of overriding) {
    if (refersToParent(relation, parent, field, values.get(field))) continue
    throw new ApiError('forbidden', `you may not create this ${relation.target.name}`)
  }
}

/**
 * Removes the foreign key to the parent from the values of a new record.
 * @param errors receives an error for each field in the body that refers to another parent
 * @throws {ApiError} `not-owner` if the foreign key is the owner, and the principal is not the parent
 */
function withoutParentKey(
  relation: NestedList,
  parent: NestedParent,
  body: RecordBody['fields'],
  changes: ChangeSet,
  errors: FieldErrors,
): ChangeSet {
  const { target } = relation
  const given = new Map([...changes].filter(([, value]) => value !== parentKeyPlaceholder))
  if (target.owner !== undefined && !refersToParent(relation, parent, target.owner, given.get(target.owner))) {
    throw new ApiError('not-owner', `only the owner may create this ${target.name}`)
  }
  // Values that a row scope or `may.create` requires are replaced by the key of the parent, and checked after the write.
  const isInBody = ({ path: [name = ''] }: Field): boolean => body.has(name)
  return withoutParentFields(relation, parent, given, (field) => {
    if (isInBody(field)) errors.add(field.name, parentMessage(parent))
  })
}

/**
 * Removes fields that the key of the parent determines, and those that refer to another parent.
 * @param onOther is called for each field that refers to another parent
 */
function withoutParentFields(
  relation: NestedList,
  parent: NestedParent,
  changes: ChangeSet,
  onOther: (field: Field) => void,
): ChangeSet {
  const ofKey = new Set(fieldsOfParentKey(relation))
  const own = new Map<Field, unknown>()
  for (const [field, value] of changes) {
    if (!refersToParent(relation, parent, field, value)) onOther(field)
    else if (!ofKey.has(field)) own.set(field, value)
  }
  return own
}

/** Whether a field may have a value: it has no column of the foreign key, or the key of the parent in these columns. */
function refersToParent(relation: NestedList, { key, store }: NestedParent, field: Field, value: unknown): boolean {
  if (!sharesParentKey(relation, field)) return true
  return key !== undefined && hasParentKey(relation, store.view, key, field, value)
}

function parentMessage({ key, store: { view } }: NestedParent): string {
  return key === undefined
    ? `must be left out: it refers to the new ${view.name}`
    : `must refer to this ${view.name}, or be left out`
}

/** Parses and validates the body of a stored related record. */
export async function planNestedUpdate(
  { related }: Nesting,
  relation: NestedList,
  parent: NestedParent,
  { fields }: RecordBody,
  stored: StoredRecord,
  errors: FieldErrors,
): Promise<PlannedUpdate> {
  const { store } = related(relation.target)
  const { change, target } = await planUpdate(store, stored, stored.shown, fields, errors)
  const values = withoutParentFields(relation, parent, change.values, (field) =>
    errors.add(field.name, parentMessage(parent)),
  )
  return { change: { ...change, values }, target }
}
