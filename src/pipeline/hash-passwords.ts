import { partiesOf } from '../access/passwords/fair-queue'
import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { PermittedRequest, Service } from './service'

/** Maximum number of passwords in one request with several records: each takes tens of milliseconds to be hashed. */
const maxPasswords = 50

/** The field of a password, of an entity that has one. */
export function passwordFieldOf({ writableFields }: ResourceView): Field | undefined {
  return [...writableFields.values()].find(({ password }) => password)
}

/**
 * Adds an error if a request has too many passwords.
 * @param passwords those in one of its records
 * @param previous number of passwords in the records before this one
 */
export function checkPasswordCount(
  passwords: readonly { readonly path: string }[],
  previous: number,
  errors: FieldErrors,
): void {
  const tooMany = passwords[maxPasswords - previous]
  if (tooMany === undefined) return
  errors.add(tooMany.path, `is a password: one request may create at most ${maxPasswords} records with passwords`)
}

/** Replaces the passwords in a change set by their hashes, and hashes those that have not been hashed before the transaction. */
export async function hashPasswords(
  { passwords }: Service,
  { context, principal, passwordHashes }: PermittedRequest,
  changes: ChangeSet,
): Promise<ChangeSet> {
  if (![...changes.keys()].some((field) => field.password)) return changes
  const parties = partiesOf(context.ip, `id ${principal.id}`)
  const hashed = new Map(changes)
  for (const [field, value] of changes) {
    if (!field.password || typeof value !== 'string') continue
    // Each new record has a hash of its own, so that equal passwords cannot be recognized. A PATCH on a collection stores the same one.
    hashed.set(field, passwordHashes?.get(value)?.pop() ?? (await passwords.hash(value, parties)))
  }
  return hashed
}
