import type { Credentials } from './credentials'
import type { PasswordChecks } from './password-checks'
import type { Principal } from './rule'

/** One user as the database holds it. */
export interface Account {
  readonly id: string | number
  readonly username: unknown
  /** The stored hash. Null or empty: no password matches. */
  readonly password: unknown
  readonly admin: boolean
  readonly active: boolean
}

/** Finds the users of this name. A database may compare names loosely and so find several, or another. */
export type AccountLookup<Session> = (session: Session, username: string) => Promise<readonly Account[]>

/**
 * Checks credentials against the site's users. An unknown, inactive or password-less user costs the same as a wrong password, so that
 * time does not tell who exists.
 * @param lookup undefined on a site without users
 */
export function buildAuthenticate<Session>(
  { matches }: PasswordChecks,
  lookup: AccountLookup<Session> | undefined,
): (session: Session, credentials: Credentials | undefined, address: string) => Promise<Principal | undefined> {
  return async (session, credentials, address) => {
    if (lookup === undefined || credentials === undefined) return undefined
    const { username, password } = credentials
    if (username === '' || password === '') return undefined
    const account = (await lookup(session, username)).find((found) => found.username === username && isOpen(found))
    const isRight = await matches(credentials, account && String(account.password), address)
    return account !== undefined && isRight ? { id: account.id, admin: account.admin } : undefined
  }
}

function isOpen(account: Account): boolean {
  return account.active && typeof account.password === 'string' && account.password !== ''
}
