import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import type { Statement } from '../connection/statement-cache'
import { type ItemCondition, itemsQuery } from '../query/item-query'
import { type ListQuery, type Query, rootAlias, type SortColumn } from '../query/query'
import type { DeletedRecords } from '../request/list-request'
import type { ColumnMetadata } from '../schema/metadata'
import type { WriteAction } from '../schema/resource-view'
import type { ReadColumn } from '../schema/stored-column'
import { compileKeyed } from './compile-keyed'
import { bindConditionValues, conditionSql, countSubqueries } from './condition-sql'
import { isIndexed } from './foreign-key-index'
import { mayHaveNull } from './keyset'
import { longBytes } from './long-columns'
import type { ValueLimit } from './measure'
import { isExpression, keyId } from './row'
import { lockRows, type RowLock } from './row-lock'
import { keyQuery, keysFirstQuery, selectQuery } from './select-query'
import type { Store } from './store'

/** Reads the rows of a list query with one statement, as the driver returns them. */
export async function readRaw(
  session: DbSession,
  store: Store,
  query: ListQuery,
  valueLimit?: ValueLimit,
): Promise<readonly RawRow[]> {
  const { statement, values } = listStatement(session, store, query, valueLimit)
  return (await execute(session, statement, values)).records
}

/** The statement of a list query, with its bound values. */
export function listStatement(
  session: DbSession,
  store: Store,
  query: ListQuery,
  valueLimit: ValueLimit,
): { readonly statement: Statement; readonly values: readonly unknown[] } {
  const { values, bind } = collectValues()
  // With sort columns of other tables, the subquery and the outer query both have to join these tables.
  const isDeep = query.offset >= deepOffset && query.ordering.every(({ alias }) => alias === rootAlias)
  const readsKeysFirst =
    (isDeep || includesVisible(query) || computesAll(store, query) || readsLongCursors(store, query)) &&
    !query.readsDeleted
  // The key of the store's view too: a selection of fields changes the columns, but not the query.
  const key = `list ${store.view.cacheKey} ${query.cursor?.direction} ${readsKeysFirst} ${valueLimit} ${query.cacheKey} ${bindConditionValues(store, query, bind)}`
  const limitClause = ` LIMIT ${bind(query.limit)} OFFSET ${bind(query.offset)}`
  const statement = cachedStatement(session, key, () => {
    const condition = conditionSql(store, query)
    return readsKeysFirst
      ? compile(store.dataSource, keysFirstQuery(store, query, condition, limitClause, valueLimit), values.length)
      : compile(store.dataSource, selectQuery(store, query, condition, valueLimit), values.length, limitClause)
  })
  return { statement, values }
}

/**
 * Whether a query joins tables under the condition that their records are visible, and reads included records. MariaDB then joins
 * all records of the list with all of their columns before it sorts them: a page of 20 of 50,000 records took 2.4 seconds.
 */
function includesVisible({ included, joins }: ListQuery): boolean {
  return included.length > 0 && joins.some(({ visible }) => visible !== undefined)
}

/**
 * Whether a query has virtual columns that the database would compute for all records of the list. For the newest first, SQLite does,
 * because each record is before those that it has read so far. MariaDB does if it joins tables, which subqueries become too. PostgreSQL
 * does for expressions without a query, which it considers cheap, even if they read a long text.
 */
function computesAll(store: Store, query: ListQuery): boolean {
  const { view, dialect } = store
  const { ordering, included, joins, where } = query
  const virtual = [view.columns, ...included.map(({ view: { columns } }) => columns)].flat().filter(isVirtual)
  if (virtual.length === 0) return false
  switch (dialect.computesBeforeLimit) {
    case 'joined':
      return joins.length > 0 || countSubqueries(where) > 0
    case 'sorted': {
      const [first] = ordering
      return !(first?.alias === rootAlias && first.column === view.key.columns[0])
    }
    default:
      return virtual.some(({ column }) => isExpression(column)) && !followsIndex(store, query)
  }
}

const isVirtual = ({ column }: ReadColumn): boolean => column.isVirtualProperty

/**
 * Whether a query reads long texts for the cursors of a page. PostgreSQL does so for all records of the list, before it sorts them:
 * a page of 60,000 records, sorted by a related text of 16 KiB, took 3.2 seconds, and 0.8 with the keys first.
 */
function readsLongCursors(store: Store, query: ListQuery): boolean {
  const { dialect, dataSource } = store
  if (query.cursor === undefined || dialect.computesBeforeLimit !== 'expressions') return false
  const isLong = ({ column }: SortColumn): boolean => {
    const bytes = column.valueType.name === 'text' ? longBytes(column, dataSource) : undefined
    return bytes !== undefined && bytes > maxInlineBytes
  }
  return query.ordering.some(isLong) && !followsIndex(store, query)
}

/** Size from which PostgreSQL stores a text compressed or outside of its row, in bytes. */
const maxInlineBytes = 2000

/** Whether the records are read in the order of an index, so that PostgreSQL need not sort them. */
function followsIndex({ view: { metadata }, dataSource }: Store, { ordering: [first] }: ListQuery): boolean {
  // An index of PostgreSQL has nulls as the greatest values, a list as the lowest.
  if (first === undefined || first.alias !== rootAlias || mayHaveNull(first)) return false
  const { column } = first.column
  const known = indexedColumns.get(column) ?? isIndexed(metadata, column, dataSource)
  indexedColumns.set(column, known)
  return known
}

/** Whether an index begins with a column. Finding it out takes longer than the rest of a statement. */
const indexedColumns = new WeakMap<ColumnMetadata, boolean>()

/** OFFSET from which a page is read with {@link keysFirstQuery}. */
const deepOffset = 1000

/**
 * Reads all entity columns of a record, and locks its row until the transaction ends.
 * @param action write that follows
 * @returns undefined if there is no record, or if the principal may not see it or write it
 */
export async function lockItem(
  session: DbTransaction,
  store: Store,
  key: unknown,
  action: WriteAction,
): Promise<RawRow | undefined> {
  const { view, dialect, policies } = store
  const isRestored = action === 'restore'
  // A record that may be restored is one that `deleted: 'only'` finds.
  const condition = isRestored ? 'visible' : ({ action, state: 'before' } as const)
  const deleted = isRestored ? 'only' : undefined
  const lock = action === 'delete' ? 'delete' : 'update'
  const isOneStatement =
    dialect.sharesConnection || !hasRowConditions(store, action) || policies?.areDecidedByRecord(view, action)
  if (isOneStatement) {
    return readRawItem(session, store, key, 'entityColumns', { lock, condition, deleted })
  }
  const raw = await readRawItem(session, store, key, 'entityColumns', { lock, condition: 'none', deleted })
  if (raw === undefined) return undefined
  // A condition on other tables is checked by a second statement: PostgreSQL evaluates the subqueries of a statement that
  // has waited for a lock with the data from before the wait.
  return (await existsItem(session, store, key, condition, deleted)) ? raw : undefined
}

/**
 * Reads the keys and owners of the records that match a list query, and locks their rows until the transaction ends.
 * @param query its `limit` is the maximum number of records
 */
export async function lockMatching(
  session: DbTransaction,
  store: Store,
  query: ListQuery,
  lock: RowLock,
): Promise<readonly RawRow[]> {
  const { dataSource } = store
  const { values, bind } = collectValues()
  const { limit } = query
  const key = `lock list ${lock} ${store.view.cacheKey} ${limit} ${query.cacheKey} ${bindConditionValues(store, query, bind)}`
  const statement = cachedStatement(session, key, () => {
    const builder = selectQuery(store, query, conditionSql(store, query))
    return compile(dataSource, lockFirst(store, builder, limit, lock), values.length)
  })
  return (await execute(session, statement, values)).records
}

/** Builds a SELECT of the keys of the records that match a query, for a subquery that locks their rows. */
export function lockedKeysQuery(store: Store, query: ListQuery, lock: RowLock): SelectQueryBuilder<ObjectLiteral> {
  return lockFirst(store, keyQuery(store, query, conditionSql(store, query)), query.limit, lock)
}

/** Limits the number of rows of a SELECT, and locks them. */
function lockFirst(
  store: Store,
  builder: SelectQueryBuilder<ObjectLiteral>,
  limit: number,
  lock: RowLock,
): SelectQueryBuilder<ObjectLiteral> {
  // `LIMIT` as a number: TypeORM writes it before `FOR UPDATE`, where MySQL expects it.
  builder.limit(limit)
  return lockRows(store, builder, lock, store.dialect.locksJoins ? undefined : [rootAlias])
}

/** Whether the row scope or `may` restricts the records that the principal can write. */
export function hasRowConditions({ view, policies }: Store, action: WriteAction): boolean {
  const { rowScope, may } = view
  if (rowScope === undefined && may[action] === undefined) return false
  return policies === undefined || policies.restrictsWrites(view, action)
}

/** Whether there is a record with this key that matches the condition. */
export async function existsItem(
  session: DbSession,
  store: Store,
  key: unknown,
  condition: ItemCondition,
  deleted?: DeletedRecords,
): Promise<boolean> {
  return (await readRawItem(session, store, key, 'key', { condition, deleted })) !== undefined
}

/** Reads a record that this transaction has written or locked, even if the principal may not see it. */
export function readWrittenItem(
  session: DbSession,
  store: Store,
  key: unknown,
  select: Query['select'] = 'columns',
): Promise<RawRow | undefined> {
  return readRawItem(session, store, key, select, { condition: 'none' })
}

/** Reads records that this transaction has written, even if the principal may not see them, in the order of the keys. */
export function readWrittenItems(
  session: DbSession,
  store: Store,
  keys: readonly unknown[],
): Promise<readonly (RawRow | undefined)[]> {
  return readItemsInOrder(session, store, keys, 'columns', { condition: 'none' })
}

/** Options for reading records by their keys. */
interface ItemReading {
  /** The write for which the rows are locked until the transaction ends. Default: they are not locked. */
  readonly lock?: RowLock
  readonly valueLimit?: ValueLimit
  /** What the record must match. Default: the principal may see it. */
  readonly condition?: ItemCondition
  /** Which soft-deleted records are read. Default: none. */
  readonly deleted?: DeletedRecords | undefined
}

/** Reads the record with this key, as the driver returns it. @returns undefined if there is none */
export async function readRawItem(
  session: DbSession,
  store: Store,
  key: unknown,
  select: Query['select'] = 'columns',
  options: ItemReading = {},
): Promise<RawRow | undefined> {
  return (await readRawItems(session, store, [key], select, options))[0]
}

/** Maximum number of keys in one statement. */
const maxKeys = 512

/**
 * Reads the records with these keys, in the order of the keys.
 * @returns undefined for each record that does not exist or does not match the condition
 */
export async function readItemsInOrder(
  session: DbSession,
  store: Store,
  keys: readonly unknown[],
  select: Query['select'] = 'columns',
  options: ItemReading = {},
): Promise<readonly (RawRow | undefined)[]> {
  const { view, readKey } = store
  if (keys.length === 1) return [(await readRawItems(session, store, keys, select, options))[0]]
  const found = new Map<string, RawRow>()
  for (let start = 0; start < keys.length; start += maxKeys) {
    const rows = await readRawItems(session, store, keys.slice(start, start + maxKeys), select, options)
    for (const raw of rows) found.set(keyId(view, readKey(raw)), raw)
  }
  return keys.map((key) => found.get(keyId(view, key)))
}

/** Reads the records with these keys, as the driver returns them, in any order. */
async function readRawItems(
  session: DbSession,
  store: Store,
  keys: readonly unknown[],
  select: Query['select'],
  { lock, valueLimit, condition = 'visible', deleted }: ItemReading,
): Promise<readonly RawRow[]> {
  const { view } = store
  const { values, bind } = collectValues()
  const query = itemsQuery(view, keys, select, condition, deleted)
  const cacheKey = `read ${lock} ${deleted} ${keyOf(condition)} ${view.cacheKey} ${select} ${valueLimit} ${bindConditionValues(store, query, bind)}`
  const statement = cachedStatement(session, cacheKey, () => {
    const sql = conditionSql(store, query, { selectedBy: keys.length === 1 ? 'key' : 'keys' })
    const builder = selectQuery(store, query, sql, valueLimit)
    return compileKeyed(store, lock === undefined ? builder : lockRows(store, builder, lock), values.length)
  })
  return (await execute(session, statement, values)).records
}

const keyOf = (condition: ItemCondition): string =>
  typeof condition === 'string' ? condition : `${condition.state} ${condition.action}`
