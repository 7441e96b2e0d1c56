import type { Identifier } from './collection.ts'

/** Options of both `createBasicAuth` and `createTokenAuth`. */
export interface SignInOptions {
  /** Storage of the credentials. `sessionStorage` keeps them when the page is reloaded. Default: in memory. */
  readonly storage?: CredentialStorage
  /**
   * Path after the base URL that responds with 401 to requests without valid credentials. Default: `/-/session`, which
   * every mount has.
   */
  readonly check?: string
}

/** The methods of the browser's `Storage` that are used. */
export interface CredentialStorage {
  readonly getItem: (key: string) => string | null
  readonly setItem: (key: string, value: string) => void
  readonly removeItem: (key: string) => void
}

/** `AuthProvider` of react-admin 5. @typeParam Credentials values of the sign-in page */
export interface AuthProvider<Credentials = NameAndPassword> {
  /** Rejects with a message for the sign-in page if the service refuses the credentials. */
  readonly login: (credentials: Credentials) => Promise<void>
  readonly logout: () => Promise<void>
  readonly checkAuth: () => Promise<void>
  /**
   * Rejects after a 401 if the credentials are not valid any more, so that react-admin signs the user out. It resolves if
   * they are valid: then the access rule has refused the user.
   */
  readonly checkError: (error: { readonly status?: number }) => Promise<void>
  readonly getIdentity: () => Promise<{ id: Identifier; fullName: string }>
}

/** Values of react-admin's sign-in page. */
export interface NameAndPassword {
  readonly username: string
  readonly password: string
}

/** A signed-in user in the storage. */
export interface SignedIn {
  readonly id: Identifier
  readonly username: string
  /** Value of the `Authorization` header. */
  readonly authorization: string
}

/** The signed-in user of a page. */
export interface Session {
  readonly read: () => SignedIn | undefined
  /** Replaces the credentials of the signed-in user. */
  readonly replace: (user: SignedIn) => void
  readonly authProviderOf: <Credentials>(scheme: SignInScheme<Credentials>) => AuthProvider<Credentials>
}

interface SignInScheme<Credentials> {
  /** Value of the `Authorization` header for values of the sign-in page. */
  readonly authorize: (credentials: Credentials) => string | Promise<string>
  /** Name of the user for display; undefined to show the id. */
  readonly usernameOf: (credentials: Credentials) => string | undefined
  /** Sends a request with the credentials of the signed-in user. */
  readonly fetch: typeof fetch
  readonly wrongMessage: string
  readonly expiredMessage: string
}

/** @param baseUrl URL of the mount, such as `/api` */
export function createSession(baseUrl: string, options: SignInOptions): Session {
  const { storage = createMemoryStorage(), check = '/-/session' } = options
  const storageKey = `typeorm-resources ${baseUrl}`
  const checkUrl = baseUrl.replace(/\/+$/, '') + check
  const read = (): SignedIn | undefined => JSON.parse(storage.getItem(storageKey) ?? 'null') ?? undefined
  const replace = (user: SignedIn): void => storage.setItem(storageKey, JSON.stringify(user))
  return {
    read,
    replace,
    authProviderOf: ({ authorize, usernameOf, fetch: send, wrongMessage, expiredMessage }) => ({
      login: async (credentials) => {
        const authorization = await authorize(credentials)
        const id = await idOf(await fetchWithout(checkUrl, { headers: { Authorization: authorization } }), wrongMessage)
        const username = usernameOf(credentials) ?? String(id ?? '')
        replace({ id: id ?? username, username, authorization })
      },
      logout: async () => storage.removeItem(storageKey),
      checkAuth: async () => void requireUser(read()),
      checkError: async ({ status }) => {
        if (status !== 401) return
        requireUser(read())
        const response = await send(checkUrl)
        if (response.status === 401) throw new Error(expiredMessage)
      },
      getIdentity: async () => {
        const { id, username } = requireUser(read())
        return { id, fullName: username }
      },
    }),
  }
}

/** User id in a response of the session path. @throws {Error} if the status is not 2xx */
async function idOf(response: Response, wrongMessage: string): Promise<Identifier | undefined> {
  if (response.status === 401) throw new Error(wrongMessage)
  if (!response.ok) throw new Error(`The service responded with status ${response.status}`)
  const { id } = (await response.json()) as Partial<SignedIn>
  return id
}

function requireUser(user: SignedIn | undefined): SignedIn {
  if (user === undefined) throw new Error('Nobody has signed in')
  return user
}

/** `fetch` with `credentials: 'omit'`: otherwise the browser opens its own sign-in dialog for a 401. */
export const fetchWithout: typeof fetch = (input, init) => fetch(input, { ...init, credentials: 'omit' })

function createMemoryStorage(): CredentialStorage {
  const values = new Map<string, string>()
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  }
}
