import { isDeepStrictEqual } from 'node:util'
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { cachedStatement, collectValues, compile, selectFrom } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute } from '../connection/statement'
import { violationOf } from '../dialect/dialect-of'
import type { FieldErrors } from '../errors'
import { type ChangeSet, type Query, rootAlias } from '../query/query'
import { bindConditionValues, conditionSql } from '../read/condition-sql'
import { columnSql, splitColumnValues, toBindParameter } from '../read/row'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import type { Change } from './change'
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
  const { uncheckedReferences } = store
  const isUnchecked = (field: Field): boolean => uncheckedReferences.has(field)
  if (uncheckedReferences.size > 0) await checkReferences(session, store, change, errors, isUnchecked)
  if (!errors.isEmpty) await checkReferences(session, store, change, errors, (field) => !isUnchecked(field))
  errors.raise('bad-values')
}

/** Foreign keys for which the constraint of the database is missing or not enough: see `WriteStore.uncheckedReferences`. */
export function findUncheckedReferences({ view, dialect }: Store): ReadonlySet<Field> {
  const isChecked = (field: Field): boolean =>
    field.constrained && !field.columns.some(dialect.hasLooseCollation) && !isGuardedReference(view, field)
  return new Set(view.references.filter((field) => !isChecked(field)))
}

/** Whether a write sets a column of a foreign key to a guarded resource (`FilterNames.isGuarded`). */
export function changesGuardedReference(view: ResourceView, changes: ChangeSet): boolean {
  const written = new Set([...changes.keys()].flatMap(({ columns }) => columns))
  return view.references.some(
    (field) => isGuardedReference(view, field) && field.columns.some((one) => written.has(one)),
  )
}

/** Whether a field is a foreign key to a guarded resource: it may only refer to a record that the principal may see. */
export function isGuardedReference({ related }: ResourceView, { relation }: Field): boolean {
  return relation !== undefined && related(relation)?.isGuarded === true
}

/**
 * Adds an error for each foreign key that refers to no record and of which at least one column is written
 * (specification: Foreign keys). A record that the principal may not see counts as missing.
 * @param matches selects the foreign keys to check. Default: all
 */
export async function checkReferences(
  session: DbSession,
  store: Store,
  change: Change,
  errors: FieldErrors,
  matches: (field: Field) => boolean = () => true,
): Promise<void> {
  const { view } = store
  const values = writtenValues(change.values)
  for (const field of view.references) {
    // The body does not set the owner and presets, so errors must not name them.
    if (field.relation === undefined || field === view.owner || isPreset(field, change) || !matches(field)) continue
    if (!field.columns.some((column) => values.has(column))) continue
    const key = field.columns.map((column) =>
      values.has(column) ? values.get(column) : (change.stored?.[view.columns.indexOf(column)] ?? null),
    )
    if (!key.includes(null) && !(await referencedExists(session, store, field, key))) {
      const { name } = view.related(field.relation) ?? field.relation.inverseEntityMetadata
      addReferenceError(view, field, name.toLowerCase(), change.values, errors)
    }
  }
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

/** Whether a foreign key's record exists, and the principal may see it. */
async function referencedExists(
  session: DbSession,
  store: Store,
  field: Field,
  key: readonly unknown[],
): Promise<boolean> {
  const { view, dataSource } = store
  const { values, bind } = collectValues()
  const target = field.relation && view.related(field.relation)
  const visible = target?.isGuarded ? visibleQuery(target) : undefined
  if (target?.isGuarded) await store.policies?.checkAccess([target])
  // The values of the row scope are bound first, because `conditionSql` numbers its placeholders from 0.
  const scopeKey = visible && bindConditionValues(store, visible, bind)
  const placeholders = field.columns.map((column, index) => bind(toBindParameter(dataSource, column, key[index])))
  const statement = cachedStatement(session, `reference ${view.cacheKey}.${field.property} ${scopeKey}`, () =>
    compile(dataSource, referencedQuery(store, field, placeholders, visible), values.length),
  )
  const { records } = await execute(session, statement, values).catch((error: unknown) => {
    // If the database rejects the value, such as a number out of range, no record has it as its key.
    if (field.relation === undefined) throw error
    if (violationOf(error, dataSource, field.relation.inverseEntityMetadata) === undefined) throw error
    return { records: [] }
  })
  return records.length > 0
}

/** Query for the visible records of the resource that a foreign key refers to. */
function visibleQuery(view: ResourceView): Query {
  const where = { type: 'visible', alias: rootAlias, view, isFollowed: true } as const
  return { view, joins: [], where, values: [], select: 'columns', ordering: [], included: [], cursor: undefined }
}

/**
 * Builds a SELECT that finds the record of a foreign key.
 * @param placeholders of the key's values
 * @param visible query whose condition the record must match; undefined if the resource is not guarded
 */
function referencedQuery(
  store: Store,
  { relation, columns }: Field,
  placeholders: readonly string[],
  visible: Query | undefined,
): SelectQueryBuilder<ObjectLiteral> {
  const { dataSource, dialect } = store
  const target = relation?.inverseEntityMetadata.target ?? ''
  const builder = selectFrom(dataSource, target, rootAlias).addSelect('1', '0')
  for (const [index, stored] of columns.entries()) {
    const referenced = { ...stored, column: stored.column.referencedColumn ?? stored.column }
    const column = columnSql(dataSource, referenced, rootAlias)
    const { equalsAny, operandSql } = dialect
    builder.andWhere(equalsAny(referenced, column, [operandSql(referenced, placeholders[index] ?? '')]))
  }
  if (visible !== undefined) {
    const { sql, parameters } = conditionSql(store, visible)
    if (sql !== '') builder.andWhere(sql, parameters)
  }
  return builder.limit(1)
}
