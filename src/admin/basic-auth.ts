import { authorizedFetch } from '../client/authorization.ts'
import { basic } from '../client/basic.ts'
import { type AuthProvider, createSession, fetchWithout, type NameAndPassword, type SignInOptions } from './sign-in.ts'

/** Options of {@link createBasicAuth}. */
export type BasicAuthOptions = SignInOptions

/** Result of {@link createBasicAuth}. */
export interface BasicAuth {
  readonly authProvider: AuthProvider
  /** `fetch` option of the data provider. Sends the credentials of the signed-in user. */
  readonly fetch: typeof fetch
}

/**
 * Creates an auth provider for HTTP Basic, which uses react-admin's sign-in page.
 * @param baseUrl URL of the mount, such as `/api`
 * @example
 * const { authProvider, fetch } = createBasicAuth('/api')
 * const dataProvider = createDataProvider('/api', { fetch })
 */
export function createBasicAuth(baseUrl: string, options: BasicAuthOptions = {}): BasicAuth {
  const session = createSession(baseUrl, options)
  const authorize = async (rejected?: string): Promise<string | undefined> =>
    rejected === undefined ? session.read()?.authorization : undefined
  const send = authorizedFetch(authorize, fetchWithout)
  const authProvider = session.authProviderOf<NameAndPassword>({
    authorize: ({ username, password }) => basic(username, password),
    usernameOf: ({ username }) => username,
    fetch: send,
    wrongMessage,
    expiredMessage: wrongMessage,
  })
  return { authProvider, fetch: send }
}

const wrongMessage = 'The username or the password is wrong'
