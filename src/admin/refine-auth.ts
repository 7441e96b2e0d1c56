import * as reactAdmin from './basic-auth.ts'
import type { Identifier } from './collection.ts'
import type { NameAndPassword, AuthProvider as Session } from './sign-in.ts'
import * as tokens from './token-auth.ts'

/** `AuthProvider` of Refine 5. @typeParam Credentials values of the sign-in page */
export interface AuthProvider<Credentials = NameAndPassword> {
  readonly login: (credentials: Credentials) => Promise<Result>
  readonly logout: () => Promise<Result>
  readonly check: () => Promise<{ authenticated: boolean; redirectTo?: string }>
  /** Signs the user out after a 401 if the credentials are not valid any more. */
  readonly onError: (error: { readonly statusCode?: number }) => Promise<{
    logout?: boolean
    redirectTo?: string
    error?: Error
  }>
  readonly getIdentity: () => Promise<{ id: Identifier; name: string } | null>
}

/** A type alias, because Refine's results have an index signature, to which no interface can be assigned. */
type Result = {
  success: boolean
  redirectTo?: string
  error?: Error
}

/** Paths of the application to which Refine goes. */
export interface Paths {
  /** Path of the sign-in page. Default: `/login`. */
  readonly loginPath?: string
  /** Path of the page that is shown after signing in. Default: `/`. */
  readonly homePath?: string
}

/** Result of {@link createBasicAuth}. */
export interface BasicAuth {
  readonly authProvider: AuthProvider
  /** `fetch` option of the data provider. Sends the credentials of the signed-in user. */
  readonly fetch: typeof fetch
}

/** Result of {@link createTokenAuth}. */
export interface TokenAuth<Credentials = NameAndPassword> {
  readonly authProvider: AuthProvider<Credentials>
  /** `fetch` option of the data provider. Sends the token of the signed-in user. */
  readonly fetch: typeof fetch
}

/**
 * Creates an auth provider for HTTP Basic.
 * @param baseUrl URL of the mount, such as `/api`
 * @example
 * const { authProvider, fetch } = createBasicAuth('/api')
 * const dataProvider = createDataProvider('/api', { fetch })
 */
export function createBasicAuth(baseUrl: string, options: reactAdmin.BasicAuthOptions & Paths = {}): BasicAuth {
  const { authProvider, fetch: send } = reactAdmin.createBasicAuth(baseUrl, options)
  return { authProvider: forRefine(authProvider, options), fetch: send }
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
  options: tokens.TokenAuthOptions<Credentials> & Paths,
): TokenAuth<Credentials> {
  const { authProvider, fetch: send } = tokens.createTokenAuth<Credentials>(baseUrl, options)
  return { authProvider: forRefine(authProvider, options), fetch: send }
}

/** Refine expects results with an error where react-admin expects rejections. */
function forRefine<Credentials>(
  { login, logout, checkAuth, checkError, getIdentity }: Session<Credentials>,
  { loginPath = '/login', homePath = '/' }: Paths,
): AuthProvider<Credentials> {
  const toLogin = { redirectTo: loginPath }
  return {
    login: (credentials) =>
      login(credentials).then(
        () => ({ success: true, redirectTo: homePath }),
        (error: Error) => ({ success: false, error }),
      ),
    logout: async () => {
      await logout()
      return { success: true, ...toLogin }
    },
    check: () =>
      checkAuth().then(
        () => ({ authenticated: true }),
        () => ({ authenticated: false, ...toLogin }),
      ),
    onError: ({ statusCode }) =>
      checkError(statusCode === undefined ? {} : { status: statusCode }).then(
        () => ({}),
        (error: Error) => ({ logout: true, ...toLogin, error }),
      ),
    getIdentity: () =>
      getIdentity().then(
        ({ id, fullName }) => ({ id, name: fullName }),
        () => null,
      ),
  }
}
