import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import type { Statement } from '../connection/statement-cache'
import { type ItemCondition, itemQuery } from '../query/item-query'
import { type ListQuery, type Query, rootAlias } from '../query/query'
import type { ResourceView, WriteAction } from '../schema/resource-view'
import { bindConditionValues, conditionSql } from './condition-sql'
import type { ValueLimit } from './measure'
import { deepOffsetQuery, selectQuery } from './select-query'
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
  // With sort columns of other tables, the subquery and the outer query would both have to join these tables.
  const isDeep = query.offset >= deepOffset && query.ordering.every(({ alias }) => alias === rootAlias)
  // The key of the store's view too: a selection of fields changes the columns, but not the query.
  const key = `list ${store.view.cacheKey} ${query.cursor?.direction} ${isDeep} ${valueLimit} ${query.cacheKey} ${bindConditionValues(store, query, bind)}`
  const limitClause = ` LIMIT ${bind(query.limit)} OFFSET ${bind(query.offset)}`
  const statement = cachedStatement(session, key, () => {
    const condition = conditionSql(store, query)
    return isDeep
      ? compile(store.dataSource, deepOffsetQuery(store, query, condition, limitClause, valueLimit), values.length)
      : compile(store.dataSource, selectQuery(store, query, condition, valueLimit), values.length, limitClause)
  })
  return { statement, values }
}

/** OFFSET from which a page is read with {@link deepOffsetQuery}. */
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
  const { view, dialect } = store
  const condition = { action, state: 'before' } as const
  // If all requests share one connection, no other request runs during the transaction, and no lock is needed.
  const locks = !dialect.sharesConnection
  if (!locks || !hasRowConditions(view, action)) {
    return readRawItem(session, store, key, 'entityColumns', { locks, condition })
  }
  const raw = await readRawItem(session, store, key, 'entityColumns', { locks, condition: 'none' })
  if (raw === undefined) return undefined
  // The condition is checked by a second statement: PostgreSQL evaluates the subqueries of a statement that has waited
  // for a lock with the data from before the wait.
  return (await existsItem(session, store, key, condition)) ? raw : undefined
}

/** Whether the row scope or `may` restricts the records that can be written. */
export function hasRowConditions({ rowScope, may }: ResourceView, action: WriteAction): boolean {
  return rowScope !== undefined || may[action] !== undefined
}

/** Whether there is a record with this key that matches the condition. */
export async function existsItem(
  session: DbSession,
  store: Store,
  key: unknown,
  condition: ItemCondition,
): Promise<boolean> {
  return (await readRawItem(session, store, key, 'key', { condition })) !== undefined
}

/** Reads a record that this transaction has written, even if the principal may not see it. */
export function readWrittenItem(session: DbSession, store: Store, key: unknown): Promise<RawRow | undefined> {
  return readRawItem(session, store, key, 'columns', { condition: 'none' })
}

/** Options for reading a record. */
interface ItemReading {
  /** Whether to lock the row until the transaction ends. */
  readonly locks?: boolean
  readonly valueLimit?: ValueLimit
  /** What the record must match. Default: the principal may see it. */
  readonly condition?: ItemCondition
}

/** Reads the record with this key, as the driver returns it. @returns undefined if there is none */
export async function readRawItem(
  session: DbSession,
  store: Store,
  key: unknown,
  select: Query['select'] = 'columns',
  { locks = false, valueLimit, condition = 'visible' }: ItemReading = {},
): Promise<RawRow | undefined> {
  const { view, dataSource } = store
  const { values, bind } = collectValues()
  const query = itemQuery(view, key, select, condition)
  const cacheKey = `${locks ? 'lock' : 'read'} ${keyOf(condition)} ${view.cacheKey} ${select} ${valueLimit} ${bindConditionValues(store, query, bind)}`
  const statement = cachedStatement(session, cacheKey, () => {
    const builder = selectQuery(store, query, conditionSql(store, query), valueLimit)
    return compile(dataSource, locks ? builder.setLock('pessimistic_write') : builder, values.length)
  })
  return (await execute(session, statement, values)).records[0]
}

const keyOf = (condition: ItemCondition): string =>
  typeof condition === 'string' ? condition : `${condition.state} ${condition.action}`
