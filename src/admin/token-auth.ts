import { authorizedFetch, authorizeWith } from '../client/authorization.ts'
import { type AuthProvider, createSession, fetchWithout, type NameAndPassword, type SignInOptions } from './sign-in.ts'

/** Options of {@link createTokenAuth}. @typeParam Credentials values of the sign-in page */
export interface TokenAuthOptions<Credentials = NameAndPassword> extends SignInOptions {
  /** Returns a token. Its errors are shown on the sign-in page. */
  readonly login: (credentials: Credentials) => string | Promise<string>
  /**
   * Returns a new token after a 401; null or undefined if there is none, which signs the user out. Requests at the same
   * time share one call.
   */
  readonly refresh?: (rejected: string) => string | null | undefined | Promise<string | null | undefined>
}

/** Result of {@link createTokenAuth}. */
export interface TokenAuth<Credentials = NameAndPassword> {
  readonly authProvider: AuthProvider<Credentials>
  /** `fetch` option of the data provider. Sends the token of the signed-in user. */
  readonly fetch: typeof fetch
}

/**
 * Creates an auth provider for tokens of the scheme `Bearer`.
 * @param baseUrl URL of the mount, such as `/api`
 * @example
 * const { authProvider, fetch } = createTokenAuth('/api', { login: ({ username, password }) => requestToken(username, password) })
 * const dataProvider = createDataProvider('/api', { fetch })
 */
export function createTokenAuth<Credentials extends object = NameAndPassword>(
  baseUrl: string,
  options: TokenAuthOptions<Credentials>,
): TokenAuth<Credentials> {
  const { login, refresh, ...others } = options
  const session = createSession(baseUrl, others)
  const readToken = (): string | undefined => session.read()?.authorization.slice(bearerPrefix.length)
  const renew = async (rejected: string): Promise<string | undefined> => {
    const token = await refresh?.(rejected)
    const user = session.read()
    // In the meantime, the user may have signed out, or another user may have signed in.
    if (!token || user?.authorization !== bearerPrefix + rejected) return undefined
    const authorization = bearerPrefix + token.trim()
    session.replace({ ...user, authorization })
    return token
  }
  const authorize = authorizeWith({ token: (rejected) => (rejected === undefined ? readToken() : renew(rejected)) })
  const send = authorizedFetch(authorize, fetchWithout)
  const authProvider = session.authProviderOf<Credentials>({
    authorize: async (credentials) => {
      const authorization = await authorizeWith({ token: await login(credentials) })()
      if (authorization === undefined) throw new Error(wrongMessage)
      return authorization
    },
    usernameOf: (credentials) => ('username' in credentials ? String(credentials.username) : undefined),
    fetch: send,
    wrongMessage,
    expiredMessage: 'The token has expired',
  })
  return { authProvider, fetch: send }
}

const bearerPrefix = 'Bearer '

const wrongMessage = 'The service does not accept the token'
