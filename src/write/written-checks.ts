import type { DbSession } from '../connection/db-session'
import { FieldErrors } from '../errors'
import { hasRowConditions } from '../read/select'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import type { Change } from './change'
import { changesGuardedReference, checkReferences, isGuardedReference } from './references'

/** Whether a write needs a check of the written record, or of the records to which it refers. */
export function needsCheck(store: Store, change: Change): boolean {
  return hasRowConditions(store, change.action) || changesGuardedReference(store, change)
}

/** Requires that the principal may see the records to which a change refers. @throws {ApiError} `bad-values` */
export async function requireGuardedReferences(session: DbSession, store: Store, change: Change): Promise<void> {
  const errors = new FieldErrors()
  await checkReferences(session, store, change, errors, (field) => isGuardedReference(store, field))
  errors.raise('bad-values')
}

/** Text of the refusal of a written record that the principal may not see, or whose new values `may` does not permit. */
export function refusalOf({ action }: Change, { name }: ResourceView): string {
  if (action === 'restore') return `you may not see this ${name} when it is restored`
  return action === 'create'
    ? `you may not create this ${name} with these values`
    : `you may not change the ${name} to these values`
}
