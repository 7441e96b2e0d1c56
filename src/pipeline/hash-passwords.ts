import { partiesOf } from '../access/passwords/fair-queue'
import type { ChangeSet } from '../query/query'
import type { PermittedRequest, Service } from './service'

/** Replaces the passwords in a change set by their hashes. */
export async function hashPasswords(
  { passwords }: Service,
  { context, principal }: PermittedRequest,
  changes: ChangeSet,
): Promise<ChangeSet> {
  if (![...changes.keys()].some((field) => field.password)) return changes
  const parties = partiesOf(context.ip, `id ${principal.id}`)
  const hashed = new Map(changes)
  for (const [field, value] of changes) {
    if (field.password && typeof value === 'string') hashed.set(field, await passwords.hash(value, parties))
  }
  return hashed
}
