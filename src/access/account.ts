import { randomUUID } from 'node:crypto'
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
export type AccountLookup = (username: string) => Promise<readonly Account[]>

export type Authenticate = (
  credentials: Credentials | undefined,
  lookup: AccountLookup,
) => Promise<Principal | undefined>

/**
 * Checks credentials against the site's users. An unknown, inactive or password-less user costs the same hash as a wrong
 * password, so that time does not tell who exists.
 */
export function buildAuthenticate({ hash, matches }: PasswordChecks): Authenticate {
  let decoy: Promise<string> | undefined
  const decoyHash = (): Promise<string> => {
    decoy ??= hash(randomUUID()).catch((error: unknown) => {
      decoy = undefined
      throw error
    })
    return decoy
  }
  return async (credentials, lookup) => {
    if (credentials === undefined || credentials.username === '' || credentials.password === '') return undefined
    const { username } = credentials
    const account = (await lookup(username)).find((found) => found.username === username && isOpen(found))
    const stored = account === undefined ? await decoyHash() : String(account.password)
    const isRight = await matches(credentials, stored)
    return account !== undefined && isRight ? { id: account.id, admin: account.admin } : undefined
  }
}

function isOpen(account: Account): boolean {
  return account.active && typeof account.password === 'string' && account.password !== ''
}
