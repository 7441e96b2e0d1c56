import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbTransaction } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import type { ConflictQuery } from '../query/conflict-fields'
import { bindConditionValues, conditionSql } from './condition-sql'
import { selectQuery } from './select-query'
import type { Store } from './store'

/** Reads the keys of the first two records of a query, and locks their rows until the transaction ends. */
export async function lockTwoKeys(
  session: DbTransaction,
  store: Store,
  query: ConflictQuery,
): Promise<readonly RawRow[]> {
  const { values, bind } = collectValues()
  const key = `lock keys ${store.view.cacheKey} ${query.cacheKey} ${bindConditionValues(store, query, bind)}`
  const statement = cachedStatement(session, key, () => {
    const builder = selectQuery(store, query, conditionSql(store, query)).limit(2)
    // If all requests share one connection, no other request runs during the transaction, and no lock is needed.
    if (!store.dialect.sharesConnection) builder.setLock('pessimistic_write')
    return compile(store.dataSource, builder, values.length)
  })
  return (await execute(session, statement, values)).records
}
