import { type Authenticator, basicScheme } from './authenticator'
import { parseCredentials } from './credentials'
import type { PasswordChecks } from './password-checks'
import type { Principal } from './rule'

/** A stored user. */
export interface Account {
  readonly id: string | number
  readonly username: unknown
  /** The stored password hash. If it is null or empty, no password matches. */
  readonly password: unknown
  readonly admin: boolean
  readonly active: boolean
  /**
   * Reads the further properties of the principal. Only for a user whose password was correct: an unreadable value is an
   * error, which would show others that the user exists.
   */
  readonly readProperties: () => Readonly<Record<string, unknown>>
}

/**
 * Finds the users with a name. The database may compare names without regard to case or accents, so the result may have
 * several users or users with other names.
 */
export type AccountLookup<Session> = (session: Session, username: string) => Promise<readonly Account[]>

/**
 * Builds the authenticator for HTTP Basic: it finds a user by name and checks the password. For an unknown or inactive
 * user, or one without a password, this takes as long as for a wrong password, so that response times do not reveal which
 * users exist.
 * @param lookup undefined without a user entity: then all credentials are rejected
 */
export function buildBasicAuthenticator<Session>(
  { matches }: PasswordChecks,
  lookup: AccountLookup<Session> | undefined,
): Authenticator<Session> {
  return {
    ...basicScheme,
    authenticate: async (session, authorization, address) => {
      const credentials = parseCredentials(authorization)
      if (lookup === undefined || credentials === undefined) return undefined
      const { username, password } = credentials
      if (username === '' || password === '') return undefined
      const account = (await lookup(session, username)).find((user) => user.username === username && canLogIn(user))
      const isCorrect = await matches(credentials, account && String(account.password), address)
      return account !== undefined && isCorrect ? principalOf(account) : undefined
    },
  }
}

/** The principal of a user. It is frozen, because several access rules may get it in one request. */
function principalOf({ readProperties, id, admin }: Account): Principal {
  return Object.freeze({ ...readProperties(), id, admin })
}

function canLogIn(account: Account): boolean {
  return account.active && typeof account.password === 'string' && account.password !== ''
}
