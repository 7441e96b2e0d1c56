import type { DbSession } from '../../connection/db-session'
import type { FieldErrors } from '../../errors'
import { mayNeedLookup } from '../reference-lookups'
import { checkManyReferences } from '../references'
import { groupByStore, type PlannedRecord, recordsIn } from './planned'

/**
 * Does the same as `requireReferences` for all records of a planned write, so that one response reports all errors.
 * @throws {ApiError} `bad-values` with all errors
 */
export async function requireAllReferences(
  session: DbSession,
  root: PlannedRecord,
  errors: FieldErrors,
): Promise<void> {
  const groups = groupByStore(recordsIn(root).map((record) => ({ ...record, errors: errors.within(record.path) })))
  for (const [store, records] of groups) {
    await checkManyReferences(session, store, records, (field) => mayNeedLookup(store, field))
  }
  if (errors.isEmpty) return
  for (const [store, records] of groups) {
    await checkManyReferences(session, store, records, (field) => !mayNeedLookup(store, field))
  }
  errors.raise('bad-values')
}
