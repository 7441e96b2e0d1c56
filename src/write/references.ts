import type { DbSession } from '../connection/db-session'
import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { Change } from './change'
import { changedReferences, incompleteReferences } from './changed-references'
import { guardedTarget, needsLookup } from './reference-lookups'
import { lookUpOneByOne, lookUpTogether, type ReferenceLookup, referencedEntity } from './referenced'
import type { WriteStore } from './write-store'

/**
 * Checks the foreign keys for which the constraint of the database is not enough (`WriteStore.uncheckedReferences`). The
 * constraint reports errors of the others, when the record is written. If the request has other errors, nothing is
 * written: then all foreign keys are checked here, so that one response reports all errors.
 * @throws {ApiError} `bad-values` with all errors
 */
export async function requireReferences(
  session: DbSession,
  store: WriteStore,
  change: Change,
  errors: FieldErrors,
): Promise<void> {
  const unchecked = await referencesToLookUp(store, change)
  const isUnchecked = (field: Field): boolean => unchecked.has(field)
  if (unchecked.size > 0) await checkReferences(session, store, change, errors, isUnchecked)
  if (!errors.isEmpty) await checkReferences(session, store, change, errors, (field) => !isUnchecked(field))
  errors.raise('bad-values')
}

/** The foreign keys that must be looked up before a write of the principal. */
async function referencesToLookUp(store: WriteStore, change: Change): Promise<ReadonlySet<Field>> {
  const { view, policies, uncheckedReferences } = store
  const guarded = view.references.filter((field) => guardedTarget(view, field) !== undefined)
  if (guarded.length === 0) return uncheckedReferences
  // Otherwise it is not known whether the principal may read the resources.
  await policies?.checkAccess(guardedTargets(view, change, guarded))
  return new Set(view.references.filter((field) => needsLookup(store, field)))
}

/** The guarded resources to which the foreign keys of a change refer. */
function guardedTargets(view: ResourceView, change: Change, guarded: readonly Field[]): readonly ResourceView[] {
  const matches = (field: Field): boolean => guarded.includes(field)
  const changed = changedReferences(view, change, matches).map(([field]) => field)
  const fields = [...changed, ...incompleteReferences(view, change, matches)]
  return fields.flatMap((field) => guardedTarget(view, field) ?? [])
}

/**
 * Checks the foreign keys of several records like {@link checkReferences}. The different keys of one field are looked up
 * together, by few statements.
 */
export async function checkManyReferences(
  session: DbSession,
  store: WriteStore,
  records: readonly { readonly change: Change; readonly errors: FieldErrors }[],
  matches: (field: Field) => boolean,
): Promise<void> {
  const { view, policies } = store
  if (!view.references.some(matches)) return
  const isIncomplete = (field: Field): boolean => field.columns.length > 1 && guardedTarget(view, field) !== undefined
  if (view.references.some(isIncomplete)) {
    // Must be called before the write: an access rule may run statements, which would wait for the transaction.
    const incomplete = records.flatMap(({ change }) => incompleteReferences(view, change, isIncomplete))
    await policies?.checkAccess(incomplete.flatMap((field) => guardedTarget(view, field) ?? []))
  }
  const lookUp = await lookUpTogether(
    session,
    store,
    records.flatMap(({ change }) => changedReferences(view, change, matches)),
  )
  for (const { change, errors } of records) {
    if (errors.isFull) return
    await checkReferences(session, store, change, errors, matches, lookUp)
  }
}

/**
 * Adds an error for each foreign key that refers to no record and of which at least one column is written
 * (specification: Foreign keys). A record that the principal may not see counts as missing.
 * @param matches selects the foreign keys to check. Default: all
 * @param lookUp Default: a statement for each foreign key
 */
export async function checkReferences(
  session: DbSession,
  store: Store,
  change: Change,
  errors: FieldErrors,
  matches: (field: Field) => boolean = () => true,
  lookUp: ReferenceLookup = lookUpOneByOne(session, store),
): Promise<void> {
  const { view } = store
  for (const [field, key] of changedReferences(view, change, matches)) {
    if (await lookUp(field, key)) continue
    addReferenceError(view, field, targetName(view, field), change.values, errors)
  }
}

/**
 * Adds errors after the database has rejected a new record because of a foreign key: for those that were not checked before
 * ({@link incompleteReferences}). A record that does not exist gets the same error as one that the principal may not see.
 * @param columns names of the columns of the rejected key; empty if the database does not report them
 */
export function addRejectedReferenceErrors(
  view: ResourceView,
  change: Change,
  columns: readonly string[],
  errors: FieldErrors,
): void {
  const isRejected = (field: Field): boolean =>
    columns.length === 0 || field.columns.every(({ column }) => columns.includes(column.databaseName))
  for (const field of incompleteReferences(view, change, isRejected)) {
    addReferenceError(view, field, targetName(view, field), change.values, errors)
  }
}

/** Name of the resource to which a foreign key refers, for messages. */
function targetName(view: ResourceView, field: Field): string {
  return ((field.relation && view.related(field.relation)) ?? referencedEntity(field)).name.toLowerCase()
}

/**
 * Adds an error for a foreign key. A hidden foreign key can have columns of other fields. If the body has only those
 * fields, the error names one of them instead: it must not reveal the hidden foreign key.
 */
function addReferenceError(
  { outputFields }: ResourceView,
  field: Field,
  target: string,
  changes: ChangeSet,
  errors: FieldErrors,
): void {
  const isShared = ({ columns }: Field): boolean => columns.some((column) => field.columns.includes(column))
  const isNamed = outputFields.includes(field) || changes.has(field)
  const written = isNamed ? undefined : [...changes.keys()].find(isShared)
  if (written === undefined) errors.add(field.name, `points to no ${target}`)
  else errors.add(written.name, 'is part of a key that points to no record')
}
