import { isDeepStrictEqual } from 'node:util'
import type { ObjectLiteral } from 'typeorm'
import type { DbSession } from '../connection/db-session'
import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import { newEntity } from '../read/entity'
import { splitColumnValues } from '../read/row'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ColumnMetadata } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import type { Change } from './change'
import { findReferences, type KnownReferences, noReferences, referencedEntity, referencedExists } from './referenced'
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
  const unchecked = await findLookedUp(store, change)
  const isUnchecked = (field: Field): boolean => unchecked.has(field)
  if (unchecked.size > 0) await checkReferences(session, store, change, errors, isUnchecked)
  if (!errors.isEmpty) await checkReferences(session, store, change, errors, (field) => !isUnchecked(field))
  errors.raise('bad-values')
}

/** The foreign keys that must be looked up before a write of the principal. */
async function findLookedUp(store: WriteStore, change: Change): Promise<ReadonlySet<Field>> {
  const { view, policies, uncheckedReferences } = store
  const guarded = view.references.filter((field) => guardedTarget(view, field) !== undefined)
  if (guarded.length === 0) return uncheckedReferences
  // Otherwise it is not known whether the principal may read the resources.
  await policies?.checkAccess(guardedTargets(view, change, guarded))
  return new Set([...uncheckedReferences, ...guarded.filter((field) => isGuardedReference(store, field))])
}

/** The guarded resources to which the foreign keys of a change refer. */
function guardedTargets(view: ResourceView, change: Change, guarded: readonly Field[]): readonly ResourceView[] {
  const matches = (field: Field): boolean => guarded.includes(field)
  const changed = changedReferences(view, change, matches).map(([field]) => field)
  const fields = [...changed, ...incompleteReferences(view, change, matches)]
  return fields.flatMap((field) => guardedTarget(view, field) ?? [])
}

/**
 * Checks the foreign keys of several records like {@link checkReferences}. The keys of one field are looked up by one
 * statement.
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
  const known = await findReferences(
    session,
    store,
    records.flatMap(({ change }) => changedReferences(view, change, matches)),
  )
  for (const { change, errors } of records) {
    if (errors.isFull) return
    await checkReferences(session, store, change, errors, matches, known)
  }
}

/** Foreign keys for which the constraint of the database is missing or not enough: see `WriteStore.uncheckedReferences`. */
export function findUncheckedReferences({ view, dialect }: Store): ReadonlySet<Field> {
  const isChecked = ({ constrained, columns }: Field): boolean =>
    constrained && !columns.some(dialect.hasLooseCollation)
  return new Set(view.references.filter((field) => !isChecked(field)))
}

/** Whether a write sets a guarded foreign key: see {@link isGuardedReference}. */
export function changesGuardedReference(store: Store, change: Change): boolean {
  return changedReferences(store.view, change, (field) => isGuardedReference(store, field)).length > 0
}

/** Whether a field is a foreign key to a resource of which the principal may not see all records. */
export function isGuardedReference({ view, policies }: Store, field: Field): boolean {
  const target = guardedTarget(view, field)
  return target !== undefined && policies?.restrictsRelated(target) !== false
}

/**
 * Whether a foreign key may have to be looked up before a write: the constraint of the database is not enough, or it refers
 * to a guarded resource.
 */
export function mayNeedLookup(
  { view, uncheckedReferences }: Pick<WriteStore, 'view' | 'uncheckedReferences'>,
  field: Field,
): boolean {
  return uncheckedReferences.has(field) || guardedTarget(view, field) !== undefined
}

/** The guarded resource (`FilterNames.isGuarded`) to which a foreign key refers; undefined for other fields. */
export function guardedTarget({ related }: ResourceView, { relation }: Field): ResourceView | undefined {
  const target = relation && related(relation)
  return target?.isGuarded ? target : undefined
}

/**
 * Adds an error for each foreign key that refers to no record and of which at least one column is written
 * (specification: Foreign keys). A record that the principal may not see counts as missing.
 * @param matches selects the foreign keys to check. Default: all
 * @param known references that need no lookup
 */
export async function checkReferences(
  session: DbSession,
  store: Store,
  change: Change,
  errors: FieldErrors,
  matches: (field: Field) => boolean = () => true,
  known: KnownReferences = noReferences,
): Promise<void> {
  const { view } = store
  for (const [field, key] of changedReferences(view, change, matches)) {
    if (known(field, key) || (await referencedExists(session, store, field, key))) continue
    addReferenceError(view, field, targetName(view, field), change.values, errors)
  }
}

/** The foreign keys of a change to look up, with the values of their columns, none of which is null. */
function changedReferences(
  view: ResourceView,
  change: Change,
  matches: (field: Field) => boolean,
): readonly (readonly [field: Field, key: readonly unknown[]])[] {
  const candidates = view.references.filter(matches)
  if (candidates.length === 0) return []
  const values = writtenValues(change.values)
  const incomplete = incompleteReferences(view, change, matches)
  const entity = incomplete.length === 0 ? {} : newEntity(view, change.values)
  return candidates.flatMap((field) => {
    // The body does not set the owner and presets, so errors must not name them.
    if (field.relation === undefined || field === view.owner || isPreset(field, change)) return []
    if (!field.columns.some((column) => values.has(column))) return []
    const key = field.columns.map((column) => {
      if (values.has(column)) return values.get(column)
      if (incomplete.includes(field)) return declaredDefault(view, column, entity)
      return change.stored?.[view.entityColumns.indexOf(column)] ?? null
    })
    return key.includes(null) ? [] : [[field, key] as const]
  })
}

/**
 * The foreign keys of a new record that can be checked only when it is written: the request has set some of their columns,
 * and the database, the class or a listener may fill in the others.
 */
export function incompleteReferences(
  view: ResourceView,
  change: Change,
  matches: (field: Field) => boolean,
): readonly Field[] {
  const { action, values: changes, stored } = change
  if (action !== 'create' || stored !== undefined) return []
  const isCandidate = (field: Field): boolean =>
    field.columns.length > 1 && field !== view.owner && matches(field) && !isPreset(field, change)
  const candidates = view.references.filter(isCandidate)
  if (candidates.length === 0) return []
  const values = writtenValues(changes)
  const requested = writtenValues(
    new Map([...changes].filter(([field]) => field !== view.owner && !isPreset(field, change))),
  )
  const partlyWritten = candidates.filter(
    ({ columns }) => columns.some((column) => requested.has(column)) && !columns.every((column) => values.has(column)),
  )
  if (partlyWritten.length === 0) return []
  const entity = newEntity(view, changes)
  const mayHaveValue = (stored: StoredColumn): boolean =>
    values.has(stored) ? values.get(stored) !== null : mayBeFilled(view, stored.column, entity)
  return partlyWritten.filter(({ columns }) => columns.every(mayHaveValue))
}

/** Whether a column that a request does not set may have a value in a new record. @param entity the new record */
function mayBeFilled({ lifecycle }: ResourceView, column: ColumnMetadata, entity: ObjectLiteral): boolean {
  const { isNullable, isGenerated, asExpression, default: defaultValue } = column
  if (!isNullable || isGenerated || asExpression !== undefined || lifecycle.write) return true
  return (defaultValue ?? column.getEntityValue(entity) ?? null) !== null
}

/**
 * The value that a column gets in a new record that does not set it, if the entity declares a constant; null otherwise. It is
 * used for a check before the write: among several records, the database would reject only those that refer to no record,
 * and so reveal which ones exist.
 * @param entity the new record
 */
function declaredDefault(
  { lifecycle }: ResourceView,
  { column, valueColumn, valueType }: StoredColumn,
  entity: ObjectLiteral,
): unknown {
  // Listeners may set another value.
  if (lifecycle.write) return null
  const initial: unknown = column.getEntityValue(entity)
  if (initial !== undefined) return initial
  const value: unknown = column.default
  const isInteger = valueType.name === 'integer' && Number.isSafeInteger(value)
  const isText = valueType.name === 'text' && typeof value === 'string'
  return (isInteger || isText) && valueColumn.transformer === undefined ? value : null
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

/** Whether a field has the value that the application has set. A body may contain the same value. */
function isPreset(field: Field, { values, presets }: Change): boolean {
  return presets?.has(field) === true && isDeepStrictEqual(values.get(field), presets.get(field))
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

function writtenValues(changes: ChangeSet): ReadonlyMap<StoredColumn, unknown> {
  return new Map(
    [...changes].flatMap(([field, value]) => {
      const values = splitColumnValues(field, value)
      return field.columns.map((column, index) => [column, values[index]] as const)
    }),
  )
}
