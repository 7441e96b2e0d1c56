import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import { itemQuery } from '../query/list-query'
import { type ListQuery, type Query, rootAlias } from '../query/query'
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
  const { values, bind } = collectValues()
  // With sort columns of other tables, the subquery and the outer query would both have to join these tables.
  const isDeep = query.offset >= deepOffset && query.ordering.every(({ alias }) => alias === rootAlias)
  const key = `list ${query.cursor?.direction} ${isDeep} ${valueLimit} ${query.cacheKey} ${bindConditionValues(store, query, bind)}`
  const limitClause = ` LIMIT ${bind(query.limit)} OFFSET ${bind(query.offset)}`
  const statement = cachedStatement(session, key, () => {
    const condition = conditionSql(store, query)
    return isDeep
      ? compile(store.dataSource, deepOffsetQuery(store, query, condition, limitClause, valueLimit), values.length)
      : compile(store.dataSource, selectQuery(store, query, condition, valueLimit), values.length, limitClause)
  })
  return (await execute(session, statement, values)).records
}

/** OFFSET from which a page is read with {@link deepOffsetQuery}. */
const deepOffset = 1000

/**
 * Reads all entity columns of a record, and locks its row until the transaction ends.
 * @returns undefined if there is no record, or if it is out of scope
 */
export async function lockItem(session: DbTransaction, store: Store, key: unknown): Promise<RawRow | undefined> {
  // If all requests share one connection, no other request runs during the transaction, and no lock is needed.
  const locks = !store.dialect.sharesConnection
  if (!locks || store.view.rowScope === undefined) return readRawItem(session, store, key, 'entityColumns', { locks })
  const raw = await readRawItem(session, store, key, 'entityColumns', { locks, ignoresScope: true })
  if (raw === undefined) return undefined
  // The scope is checked by a second statement: PostgreSQL evaluates the subqueries of a statement that has waited for
  // a lock with the data from before the wait.
  return (await readRawItem(session, store, key)) === undefined ? undefined : raw
}

/** Reads a record that this transaction has written, even if it is out of scope. */
export function readWrittenItem(session: DbSession, store: Store, key: unknown): Promise<RawRow | undefined> {
  return readRawItem(session, store, key, 'columns', { ignoresScope: true })
}

/** Options for reading a record. */
interface ItemReading {
  /** Whether to lock the row until the transaction ends. */
  readonly locks?: boolean
  readonly valueLimit?: ValueLimit
  /** Whether the record is read even if it is out of scope, as after a write in the same transaction. */
  readonly ignoresScope?: boolean
}

/** Reads the record with this key, as the driver returns it. @returns undefined if there is none */
export async function readRawItem(
  session: DbSession,
  store: Store,
  key: unknown,
  select: Query['select'] = 'columns',
  { locks = false, valueLimit, ignoresScope = false }: ItemReading = {},
): Promise<RawRow | undefined> {
  const { view, dataSource } = store
  const { values, bind } = collectValues()
  const query = itemQuery(view, key, select, ignoresScope)
  const cacheKey = `${locks ? 'lock' : 'read'} ${ignoresScope} ${view.name} ${select} ${valueLimit} ${bindConditionValues(store, query, bind)}`
  const statement = cachedStatement(session, cacheKey, () => {
    const builder = selectQuery(store, query, conditionSql(store, query), valueLimit)
    return compile(dataSource, locks ? builder.setLock('pessimistic_write') : builder, values.length)
  })
  return (await execute(session, statement, values)).records[0]
}
