import type { Credentials } from './credentials'
import { hashPassword, verifyPassword } from './password'
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

/** The site's own way of hashing, for hashes that exist already. Default: argon2id. */
export interface PasswordHashing {
  readonly hash: (plain: string) => string | Promise<string>
  readonly verify: (plain: string, hash: string) => boolean | Promise<boolean>
}

export const argon2id: PasswordHashing = { hash: hashPassword, verify: verifyPassword }

/** Finds the users of this name. A database may compare names loosely and so find several, or another. */
export type AccountLookup = (username: string) => Promise<readonly Account[]>

export type Authenticate = (credentials: Credentials | undefined) => Promise<Principal | undefined>

/**
 * Checks credentials against the site's users. An unknown, inactive or password-less user costs the same hash as a wrong
 * password, so that time does not tell who exists.
 */
export function buildAuthenticate(lookup: AccountLookup, hashing: PasswordHashing): Authenticate {
  let decoy: Promise<string> | undefined
  const decoyHash = (): Promise<string> => {
    decoy ??= Promise.resolve(hashing.hash('nobody has this password'))
    return decoy
  }
  return async (credentials) => {
    if (credentials === undefined || credentials.username === '' || credentials.password === '') return undefined
    const { username, password } = credentials
    const account = (await lookup(username)).find((found) => found.username === username && isOpen(found))
    const stored = account === undefined ? await decoyHash() : String(account.password)
    const matches = await hashing.verify(password, stored)
    return account !== undefined && matches ? { id: account.id, admin: account.admin } : undefined
  }
}

function isOpen(account: Account): boolean {
  return account.active && typeof account.password === 'string' && account.password !== ''
}
