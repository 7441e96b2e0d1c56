import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { WriteStore } from './write-store'

// Which foreign keys the service looks up, because the constraint of the database is not enough:
// - unchecked: there is no constraint, or its comparison is looser than that of the service;
// - restricted: the principal may not see all records of the resource to which the key refers. Only the resources that are guarded
//   can be restricted, for some principals.

/** The guarded resource (`FilterNames.isGuarded`) to which a foreign key refers; undefined for other fields. */
export function guardedTarget({ related }: ResourceView, { relation }: Field): ResourceView | undefined {
  const target = relation && related(relation)
  return target?.isGuarded ? target : undefined
}

/** Whether a field is a foreign key to a resource of which the principal may not see all records. */
export function refersToRestricted({ view, policies }: Store, field: Field): boolean {
  const target = guardedTarget(view, field)
  return target !== undefined && policies?.restrictsRelated(target) !== false
}

/** Foreign keys for which the constraint of the database is missing or not enough: see `WriteStore.uncheckedReferences`. */
export function findUncheckedReferences({ view, dialect }: Store): ReadonlySet<Field> {
  const isChecked = ({ constrained, columns }: Field): boolean =>
    constrained && !columns.some(dialect.hasLooseCollation)
  return new Set(view.references.filter((field) => !isChecked(field)))
}

/** Whether a write of the principal must look up a foreign key: the constraint of the database is not enough. */
export function needsLookup(store: WriteStore, field: Field): boolean {
  return store.uncheckedReferences.has(field) || refersToRestricted(store, field)
}

/** Whether writes of some principals must look up a foreign key: see {@link needsLookup}. */
export function mayNeedLookup(
  { view, uncheckedReferences }: Pick<WriteStore, 'view' | 'uncheckedReferences'>,
  field: Field,
): boolean {
  return uncheckedReferences.has(field) || guardedTarget(view, field) !== undefined
}
