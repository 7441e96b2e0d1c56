import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { cachedStatement, collectValues, selectFrom } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute, type RawRow, runFallible } from '../connection/statement'
import { violationOf } from '../dialect/dialect-of'
import { padList } from '../dialect/in-list'
import { type Query, rootAlias } from '../query/query'
import { compileKeyed } from '../read/compile-keyed'
import { bindConditionValues, conditionSql } from '../read/condition-sql'
import { buildRowReader, columnSql, selection, toBindParameter } from '../read/row'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import { equalsAnyKey } from './key-predicate'

/** Finds out whether a foreign key refers to a record that exists and that the principal may see. */
export type ReferenceLookup = (field: Field, key: readonly unknown[]) => Promise<boolean>

/** Maximum number of keys in one statement. */
const maxKeys = 256
/**
 * Maximum number of keys in one statement after the database has rejected a larger one. Only the keys of a statement that is
 * rejected again are looked up one by one.
 */
const maxKeysAfterError = 16

/** Returns a lookup that runs a statement for each call. */
export function lookUpOneByOne(session: DbSession, store: Store): ReferenceLookup {
  return async (field, key) => {
    const records = await findKeys(session, store, field, [key])
    return records !== undefined && records.length > 0
  }
}

/**
 * Looks up the records of many foreign keys, by one statement for each field and {@link maxKeys} different keys.
 * @returns a lookup for these foreign keys, to be used before the next write. It runs statements only for keys that the first
 * ones have not found: one for each key
 */
export async function lookUpTogether(
  session: DbSession,
  store: Store,
  references: readonly (readonly [field: Field, key: readonly unknown[]])[],
): Promise<ReferenceLookup> {
  const keysByField = new Map<Field, Map<string, readonly unknown[]>>()
  for (const [field, key] of references) {
    const keys = keysByField.get(field) ?? new Map<string, readonly unknown[]>()
    keysByField.set(field, keys.set(boundText(store, field, key), key))
  }
  const results = new Map<Field, Map<string, boolean>>()
  for (const [field, keys] of keysByField) {
    const found = await findTogether(session, store, field, [...keys.values()], maxKeys)
    results.set(field, new Map([...found].map((text) => [text, true])))
  }
  const lookUp = lookUpOneByOne(session, store)
  return async (field, key) => {
    const ofField = results.get(field)
    const text = boundText(store, field, key)
    const exists = ofField?.get(text) ?? (await lookUp(field, key))
    ofField?.set(text, exists)
    return exists
  }
}

/**
 * Looks up several different keys of one field.
 * @param chunkSize maximum number of keys in one statement
 * @returns texts of keys whose records were found. Others may exist too
 */
async function findTogether(
  session: DbSession,
  store: Store,
  field: Field,
  keys: readonly (readonly unknown[])[],
  chunkSize: number,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  // A single key is looked up when it is checked.
  if (keys.length < 2) return found
  const readKey = buildRowReader(field.columns.map(toReferenced), store.dataSource)
  for (let start = 0; start < keys.length; start += chunkSize) {
    const chunk = keys.slice(start, start + chunkSize)
    const records = await findKeys(session, store, field, padList(chunk))
    const texts =
      records === undefined && chunk.length > maxKeysAfterError
        ? await findTogether(session, store, field, chunk, maxKeysAfterError)
        : (records ?? []).map((raw) => boundText(store, field, readKey(raw)))
    for (const text of texts) found.add(text)
  }
  return found
}

/**
 * Text of the values of a key as they are sent to the database. Keys with the same text are equal there, which is not true for
 * their JSON form: it has no milliseconds. Keys with different texts may be equal in the database too.
 */
function boundText({ dataSource }: Store, { columns }: Field, key: readonly unknown[]): string {
  const texts = columns.map((column, index) => {
    const { valueType, valueColumn } = column
    const value = toBindParameter(dataSource, column, key[index])
    // Drivers return some numbers as texts, such as those of `bigint` columns, and decimals with another number of zeros.
    const isDecimal = valueType.name === 'decimal' && valueColumn.transformer === undefined
    if (isDecimal) return valueType.toCompared?.(String(value)) ?? value
    return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  })
  return JSON.stringify(texts)
}

/** The column that a column of a foreign key refers to. */
function toReferenced(stored: StoredColumn): StoredColumn {
  return { ...stored, column: stored.column.referencedColumn ?? stored.column }
}

/** The entity to which a foreign key refers. */
export function referencedEntity({ relation, name }: Field): { readonly name: string } {
  return relation?.inverseEntityMetadata ?? { name }
}

/**
 * Looks up the records of several keys that exist and are visible to the principal.
 * @returns the referenced columns of the records; undefined if the database rejects a value, such as a number out of range.
 * No record has such a value as its key
 */
async function findKeys(
  session: DbSession,
  store: Store,
  field: Field,
  keys: readonly (readonly unknown[])[],
): Promise<readonly RawRow[] | undefined> {
  const { view, dataSource } = store
  const { values, bind } = collectValues()
  const target = field.relation && view.related(field.relation)
  const visible = target?.isGuarded ? visibleQuery(target) : undefined
  if (target?.isGuarded) await store.policies?.checkAccess([target])
  // The values of the row scope are bound first, because `conditionSql` numbers its placeholders from 0.
  const scopeKey = visible && bindConditionValues(store, visible, bind)
  const rows = keys.map((key) =>
    field.columns.map((column, index) => bind(toBindParameter(dataSource, column, key[index]))),
  )
  const cacheKey = `reference ${view.cacheKey}.${field.property} ${keys.length} ${scopeKey}`
  const statement = cachedStatement(session, cacheKey, () =>
    compileKeyed(store, referencedQuery(store, field, rows, visible), values.length),
  )
  const find = (inner: DbSession): Promise<{ readonly records: readonly RawRow[] }> => execute(inner, statement, values)
  const result = await runFallible(session, find).catch((error: unknown) => {
    if (field.relation === undefined) throw error
    if (violationOf(error, dataSource, field.relation.inverseEntityMetadata) === undefined) throw error
    return undefined
  })
  return result?.records
}

/** Query for the visible records of the resource that a foreign key refers to. */
function visibleQuery(view: ResourceView): Query {
  const where = { type: 'visible', alias: rootAlias, view, isFollowed: true } as const
  return { view, joins: [], where, values: [], select: 'columns', ordering: [], included: [], cursor: undefined }
}

/**
 * Builds a SELECT that finds the records of a foreign key.
 * @param rows placeholders of the values of each key
 * @param visible query whose condition the record must match; undefined if the resource is not guarded
 */
function referencedQuery(
  store: Store,
  { relation, columns }: Field,
  rows: readonly (readonly string[])[],
  visible: Query | undefined,
): SelectQueryBuilder<ObjectLiteral> {
  const { dataSource, dialect } = store
  const target = relation?.inverseEntityMetadata.target ?? ''
  const referenced = columns.map(toReferenced)
  const operands = rows.map((row) => referenced.map((stored, index) => dialect.operandSql(stored, row[index] ?? '')))
  const names = referenced.map((stored) => columnSql(dataSource, stored, rootAlias))
  const builder = selectFrom(dataSource, target, rootAlias)
  for (const [expression, name] of selection(dataSource, referenced, rootAlias)) builder.addSelect(expression, name)
  builder.andWhere(equalsAnyKey(dialect, referenced, names, operands))
  if (visible !== undefined) {
    const selectedBy = rows.length === 1 ? 'key' : 'keys'
    const { sql, parameters } = conditionSql(store, visible, { selectedBy })
    if (sql !== '') builder.andWhere(sql, parameters)
  }
  return builder.limit(rows.length)
}
