import { type Account, type AccountLookup, principalOf } from '../account'
import type { Authenticator, Verify } from '../authenticator'
import { parseCredentials } from '../credentials'
import type { PasswordChecks } from './password-checks'

/**
 * Creates the authenticator for HTTP Basic (RFC 7617): the user name and password of a user of the entity with
 * `@UserAccount` (specification: Users).
 */
export function basic(): Authenticator {
  return {
    scheme: 'Basic',
    challenge: 'Basic realm="Login Required"',
    name: 'basic',
    securityScheme: { type: 'http', scheme: 'basic' },
    needsUsers: true,
    prepare: ({ accountsBy, passwords }) => buildVerify(passwords, accountsBy()),
  }
}

/**
 * Finds a user by name and checks the password. For an unknown or inactive user, or one without a password, this takes
 * as long as for a wrong password, so that response times do not reveal which users exist.
 * @param findAccounts undefined without a user entity: then all credentials are rejected
 */
function buildVerify<Session>(
  { matches }: PasswordChecks,
  findAccounts: AccountLookup<Session> | undefined,
): Verify<Session> {
  return async (session, authorization, { ip }) => {
    const credentials = parseCredentials(authorization)
    if (credentials === undefined) return { reason: 'the credentials are not base64 of "name:password"' }
    const { username, password } = credentials
    if (username === '' || password === '') return { reason: 'the user name or the password is empty' }
    if (findAccounts === undefined) return { reason: 'the mount has no users: no entity has @UserAccount' }
    const accounts = (await findAccounts(session, username)).filter((user) => user.username === username)
    const account = accounts.find(canLogIn)
    const isCorrect = await matches(credentials, account && String(account.password), ip)
    if (account === undefined) return { reason: missingAccountReason(accounts) }
    return isCorrect ? { principal: principalOf(account), account } : { reason: wrongPasswordReason(account) }
  }
}

function canLogIn(account: Account): boolean {
  return account.active && typeof account.password === 'string' && account.password !== ''
}

function missingAccountReason([account]: readonly Account[]): string {
  if (account === undefined) return 'there is no user with this name'
  return account.active ? 'the user has no password' : 'the user is not active'
}

/** Matches the start of hashes in PHC string format and in that of crypt(3), such as `$argon2id$` and `$2b$`. */
const hashPattern = /^\$\w+\$/

function wrongPasswordReason({ password }: Account): string {
  return hashPattern.test(String(password))
    ? 'the password is wrong'
    : 'the password is wrong, and the stored one does not look like a hash; store the result of hashPassword()'
}
