import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute } from '../connection/statement'
import type { ListQuery } from '../query/query'
import { bindConditionValues, conditionSql } from './condition-sql'
import { countQuery, withoutIncluded } from './select-query'
import type { Store } from './store'

/**
 * Counts the records of a list, on all of its pages.
 * @param maxRows stops counting at this number; undefined counts all records
 */
export async function countRows(
  session: DbSession,
  store: Store,
  query: ListQuery,
  maxRows: number | undefined,
): Promise<number> {
  const { values, bind } = collectValues()
  // The count does not depend on the cursor: it includes the records before it.
  const allPages = withoutIncluded({ ...query, ordering: [], cursor: undefined })
  const key = `count ${maxRows === undefined} ${query.cacheKey} ${bindConditionValues(store, allPages, bind)}`
  const tail = maxRows === undefined ? '' : ` LIMIT ${bind(maxRows)}`
  const statement = cachedStatement(session, key, () =>
    compile(store.dataSource, countQuery(store, allPages, conditionSql(store, allPages), tail), values.length),
  )
  const { records } = await execute(session, statement, values)
  return Number(records[0]?.[0])
}
