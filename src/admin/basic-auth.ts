import { basic } from '../client/basic.ts'
import type { Identifier } from './collection.ts'

/** Options of {@link createBasicAuth}. */
export interface BasicAuthOptions {
  /** Storage of the credentials. `sessionStorage` keeps them when the page is reloaded. Default: in memory. */
  readonly storage?: CredentialStorage
  /**
   * Path after the base URL that only users may read. Default: `/-/session`, which exists unless the service is mounted
   * with `explorer: false` or `openapi: false`.
   */
  readonly check?: string
}
/** The methods of the browser's `Storage` that are used. */
export interface CredentialStorage {
  readonly getItem: (key: string) => string | null
  readonly setItem: (key: string, value: string) => void
  readonly removeItem: (key: string) => void
}

/** `AuthProvider` of react-admin 5. */
export interface AuthProvider {
  /** Rejects with a message for the sign-in page if the service refuses the credentials. */
  readonly login: (credentials: { readonly username: string; readonly password: string }) => Promise<void>
  readonly logout: () => Promise<void>
  readonly checkAuth: () => Promise<void>
  /**
   * Rejects after a 401 if the credentials are not valid any more, so that react-admin signs the user out. A 401 can
   * also mean that the access rule does not permit the user: then it resolves.
   */
  readonly checkError: (error: { readonly status?: number }) => Promise<void>
  readonly getIdentity: () => Promise<{ id: Identifier; fullName: string }>
}

/** Result of {@link createBasicAuth}. */
export interface BasicAuth {
  readonly authProvider: AuthProvider
  /** `fetch` option of the data provider. Sends the credentials of the signed-in user. */
  readonly fetch: typeof fetch
}

interface User {
  readonly id: Identifier
  readonly username: string
  /** Value of the `Authorization` header. */
  readonly authorization: string
}

/**
 * Creates an auth provider for HTTP Basic, which uses react-admin's sign-in page.
 * @param baseUrl URL of the mount, such as `/api`
 * @example
 * const { authProvider, fetch } = createBasicAuth('/api')
 * const dataProvider = createDataProvider('/api', { fetch })
 */
export function createBasicAuth(baseUrl: string, options: BasicAuthOptions = {}): BasicAuth {
  const { storage = createMemoryStorage(), check: checkPath = '/-/session' } = options
  const storageKey = `typeorm-resources ${baseUrl}`
  const readUser = (): User | undefined => JSON.parse(storage.getItem(storageKey) ?? 'null') ?? undefined
  const requestSession = (authorization: string): Promise<Response> =>
    fetchWithAuthorization(baseUrl.replace(/\/+$/, '') + checkPath, undefined, authorization)
  const authProvider: AuthProvider = {
    login: async ({ username, password }) => {
      const authorization = basic(username, password)
      const id = await idOf(await requestSession(authorization))
      storage.setItem(storageKey, JSON.stringify({ id: id ?? username, username, authorization } satisfies User))
    },
    logout: async () => storage.removeItem(storageKey),
    checkAuth: async () => void requireUser(readUser()),
    checkError: async ({ status }) => {
      if (status !== 401) return
      const response = await requestSession(requireUser(readUser()).authorization)
      if (response.status === 401) throw new Error(wrongCredentialsMessage)
    },
    getIdentity: async () => {
      const { id, username } = requireUser(readUser())
      return { id, fullName: username }
    },
  }
  return { authProvider, fetch: (input, init) => fetchWithAuthorization(input, init, readUser()?.authorization) }
}

/** User id in a response of the session path. @throws {Error} if the status is not 2xx */
async function idOf(response: Response): Promise<Identifier | undefined> {
  if (response.status === 401) throw new Error(wrongCredentialsMessage)
  if (!response.ok) throw new Error(`The service responded with status ${response.status}`)
  const { id } = (await response.json()) as Partial<User>
  return id
}

const wrongCredentialsMessage = 'The username or the password is wrong'

/** Sends a request with `credentials: 'omit'`: otherwise the browser opens its own sign-in dialog for a 401. */
function fetchWithAuthorization(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  authorization: string | undefined,
): Promise<Response> {
  const headers = new Headers(init?.headers)
  if (authorization !== undefined) headers.set('Authorization', authorization)
  return fetch(input, { ...init, headers, credentials: 'omit' })
}

function requireUser(user: User | undefined): User {
  if (user === undefined) throw new Error('Nobody has signed in')
  return user
}

function createMemoryStorage(): CredentialStorage {
  const values = new Map<string, string>()
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  }
}
