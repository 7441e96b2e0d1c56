import type { DbSession } from '../connection/db-session'
import { runFallible } from '../connection/statement'
import { violationOf } from '../dialect/dialect-of'
import type { ListQuery, Query } from '../query/query'
import { readRaw } from './select'
import type { Store } from './store'

/**
 * Whether a SELECT has failed because the database cannot read one of the query's values, such as a text that is not a
 * network address. To find out, the SELECT runs again with LIMIT 0. If it fails again, the cause is a value of the
 * query; otherwise the cause is a stored row, for example a virtual column that divides by zero.
 */
export async function isCausedByQueryValue(
  error: unknown,
  session: DbSession,
  store: Store,
  query: Query,
): Promise<boolean> {
  const { view, dataSource } = store
  const { metadata } = view
  const violation = violationOf(error, dataSource, metadata)
  if (violation === undefined) return false
  // LIMIT 0 evaluates no operator. A query of an item has no filters of the client.
  if (violation.kind === 'value' && violation.isUnsupportedOperator) return 'cacheKey' in query
  const emptyPage: ListQuery = {
    ...query,
    cacheKey: cacheKeyOf(query),
    guardedViews: [],
    inclusion: undefined,
    limit: 0,
    offset: 0,
  }
  try {
    await runFallible(session, (inner) => readRaw(inner, store, emptyPage))
    return false
  } catch (secondError) {
    return violationOf(secondError, dataSource, metadata) !== undefined
  }
}

/** Cache key of a query. A query of an item has none: one statement reads all items of a resource. */
function cacheKeyOf(query: Query | ListQuery): string {
  return 'cacheKey' in query ? query.cacheKey : `item ${query.view.cacheKey}`
}
