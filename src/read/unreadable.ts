import type { DbSession } from '../connection/db-session'
import { violationOf } from '../dialect/dialect-of'
import type { ListQuery, Query } from '../query/query'
import { readRaw } from './select'

/**
 * Whether a SELECT has failed because the database cannot read one of the plan's values, such as a text that is no network address.
 * The same is asked again for no rows: what fails then as well is not about what is stored, as a virtual column that divides by zero.
 */
export async function isUnreadable(error: unknown, session: DbSession, plan: Query): Promise<boolean> {
  const { dataSource } = session
  const { metadata } = plan.resource
  if (violationOf(error, dataSource, metadata) === undefined) return false
  const nothing: ListQuery = { ...plan, cacheKey: namesOf(plan), limit: 0, offset: 0 }
  try {
    await readRaw(session, nothing)
    return false
  } catch (again) {
    return violationOf(again, dataSource, metadata) !== undefined
  }
}

/** Plans of items have no names: one statement reads any item of a resource. */
function namesOf(plan: Query | ListQuery): string {
  return 'cacheKey' in plan ? plan.cacheKey : `item ${plan.resource.name}`
}
