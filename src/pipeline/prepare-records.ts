import { pause } from '../connection/pauses'
import type { FieldErrors } from '../errors'
import { parseInsert } from '../query/change-set'
import { ownerKey } from '../query/owner'
import type { Presets } from '../query/presets'
import { mayNeedLookup } from '../write/reference-lookups'
import { checkManyReferences } from '../write/references'
import { validateChanges } from '../write/validate'
import type { InsertedRecord } from '../write/write-rows'
import { checkPasswordCount, hashPasswords, passwordFieldOf } from './hash-passwords'
import type { PermittedRequest, Service } from './service'
import type { ReceivedRecord } from './write-records'

/**
 * Checks the bodies of new records, and hashes their passwords if there are no errors. Other requests may run in between.
 * @param errors receives the errors of all records
 * @param previous number of records of the request before these
 */
export async function prepareRecords(
  service: Service,
  request: PermittedRequest,
  received: readonly ReceivedRecord[],
  presets: Presets,
  errors: FieldErrors,
  previous: number,
): Promise<readonly InsertedRecord[]> {
  const { store, session, principal } = request
  const { view } = store
  const owner = ownerKey(view, principal)
  const records: InsertedRecord[] = []
  for (const { body, position } of received) {
    if (errors.isFull) break
    const own = errors.at(position)
    const values = parseInsert(view, body, owner, presets, own)
    if (view.validate !== undefined) await validateChanges(view, undefined, values, own)
    records.push({ change: { action: 'create', values, stored: undefined, presets: presets.values }, errors: own })
    await pause(session)
  }
  const hasErrors = !errors.isEmpty
  await checkManyReferences(session, store, records, (field) => hasErrors || mayNeedLookup(store, field))
  const passwordField = passwordFieldOf(view)
  if (passwordField === undefined) return records
  // Those in the bodies have been counted and hashed before.
  if (presets.values.has(passwordField)) {
    checkPasswordCount(
      records.map(() => ({ path: passwordField.name })),
      previous,
      errors,
    )
  }
  if (!errors.isEmpty) return records
  const hashed: InsertedRecord[] = []
  for (const { change, errors: own } of records) {
    hashed.push({ change: { ...change, values: await hashPasswords(service, request, change.values) }, errors: own })
  }
  return hashed
}
