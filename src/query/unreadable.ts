import type { ListPlan, SelectPlan } from '../plan/plan'
import type { Session } from './connection'
import { failureOf } from './dialect-of'
import { readRaw } from './select'

/**
 * Whether a SELECT has failed because the database cannot read one of the plan's values, such as a text that is no network address.
 * The same is asked again for no rows: what fails then as well is not about what is stored, as a virtual column that divides by zero.
 */
export async function isUnreadable(error: unknown, session: Session, plan: SelectPlan): Promise<boolean> {
  const { dataSource } = session
  const { metadata } = plan.resource
  if (failureOf(error, dataSource, metadata) === undefined) return false
  const nothing: ListPlan = { ...plan, names: namesOf(plan), limit: 0, offset: 0 }
  try {
    await readRaw(session, nothing)
    return false
  } catch (again) {
    return failureOf(again, dataSource, metadata) !== undefined
  }
}

/** Plans of items have no names: one statement reads any item of a resource. */
function namesOf(plan: SelectPlan | ListPlan): string {
  return 'names' in plan ? plan.names : `item ${plan.resource.name}`
}
