import type { ChangeSet } from '../plan/plan'
import type { Service } from './service'

/** Passwords are stored as hashes alone. */
export async function hashPasswords({ passwords }: Service, changes: ChangeSet): Promise<ChangeSet> {
  if (![...changes.keys()].some((field) => field.password)) return changes
  const hashed = new Map(changes)
  for (const [field, value] of changes) {
    if (field.password && typeof value === 'string') hashed.set(field, await passwords.hash(value))
  }
  return hashed
}
