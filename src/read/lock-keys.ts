import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbTransaction } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import type { ConflictQuery } from '../query/conflict-fields'
import { bindConditionValues, conditionSql } from './condition-sql'
import { lockRows } from './row-lock'
import { selectQuery } from './select-query'
import type { Store } from './store'

/** Reads the keys of the first two records of a query, and locks their rows for an update until the transaction ends. */
export async function lockTwoKeys(
  session: DbTransaction,
  store: Store,
  query: ConflictQuery,
): Promise<readonly RawRow[]> {
  const { values, bind } = collectValues()
  const key = `lock keys ${store.view.cacheKey} ${query.cacheKey} ${bindConditionValues(store, query, bind)}`
  const statement = cachedStatement(session, key, () => {
    const builder = selectQuery(store, query, conditionSql(store, query)).limit(2)
    return compile(store.dataSource, lockRows(store, builder, 'update'), values.length)
  })
  return (await execute(session, statement, values)).records
}
