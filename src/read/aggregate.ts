import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute } from '../connection/statement'
import type { AggregateQuery } from '../query/aggregate-query'
import type { Json } from '../value/value-type'
import { aggregateQuery, groupRenderer } from './aggregate-sql'
import { bindConditionValues } from './condition-sql'
import { havingOf } from './having-sql'
import type { Store } from './store'

/** Reads a page of groups with one statement, and renders each as a JSON object. */
export async function readGroups(
  session: DbSession,
  store: Store,
  query: AggregateQuery,
): Promise<readonly Readonly<Record<string, Json>>[]> {
  const { values, bind } = collectValues()
  const conditionKey = bindConditionValues(store, query, bind)
  const having = havingOf(store, query, bind)
  const tail = ` LIMIT ${bind(query.limit)} OFFSET ${bind(query.offset)}`
  const key = `aggregate ${query.cacheKey} ${conditionKey} ${having.join(' AND ')}`
  const statement = cachedStatement(session, key, () =>
    compile(store.dataSource, aggregateQuery(store, query, having), values.length, tail),
  )
  const { records } = await execute(session, statement, values)
  return records.map(groupRenderer(store, query))
}
