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

/** Reads all entity columns of a record, and locks its row until the transaction ends. */
export function lockItem(session: DbTransaction, store: Store, key: unknown): Promise<RawRow | undefined> {
  // If all requests share one connection, no other request runs during the transaction, and no lock is needed.
  return readRawItem(session, store, key, 'entityColumns', { locks: !store.dialect.sharesConnection })
}

/** Options for reading a record. */
interface ItemReading {
  /** Whether to lock the row until the transaction ends. */
  readonly locks?: boolean
  readonly valueLimit?: ValueLimit
  /** Whether this transaction has written the record: then it is read even if it is out of scope. */
  readonly isWritten?: boolean
}

/** Reads the record with this key, as the driver returns it. @returns undefined if there is none */
export async function readRawItem(
  session: DbSession,
  store: Store,
  key: unknown,
  select: Query['select'] = 'columns',
  { locks = false, valueLimit, isWritten = false }: ItemReading = {},
): Promise<RawRow | undefined> {
  const { view, dataSource } = store
  const { values, bind } = collectValues()
  const query = itemQuery(view, key, select, isWritten)
  const cacheKey = `${locks ? 'lock' : 'read'} ${isWritten} ${view.name} ${select} ${valueLimit} ${bindConditionValues(store, query, bind)}`
  const statement = cachedStatement(session, cacheKey, () => {
    const builder = selectQuery(store, query, conditionSql(store, query), valueLimit)
    return compile(dataSource, locks ? builder.setLock('pessimistic_write') : builder, values.length)
  })
  return (await execute(session, statement, values)).records[0]
}
