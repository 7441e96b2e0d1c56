import type { Principal } from './rule'

/** A stored user. */
export interface Account {
  readonly id: string | number
  /** The value by which the account was found: the user name, unless the lookup is by another property. */
  readonly username: unknown
  /** The stored password hash. If it is null or empty, no password matches. */
  readonly password: unknown
  readonly admin: boolean
  readonly active: boolean
  /**
   * Reads the further properties of the principal. Only for a user whose credentials were correct: an unreadable value is
   * an error, which would show others that the user exists.
   */
  readonly readProperties: () => Readonly<Record<string, unknown>>
}

/**
 * Finds the users with a name, or with another property that identifies them. The database may compare names without
 * regard to case or accents, so the result may have several users or users with other names.
 */
export type AccountLookup<Session> = (session: Session, username: string) => Promise<readonly Account[]>

/** The principal of a user. It is frozen, because several access rules may get it in one request. */
export function principalOf({
  readProperties,
  id,
  admin,
}: Pick<Account, 'readProperties' | 'id' | 'admin'>): Principal {
  return Object.freeze({ ...readProperties(), id, admin })
}
