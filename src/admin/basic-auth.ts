import { basic } from '../client/basic.ts'
import type { Identifier } from './collection.ts'

/** How users sign in. */
export interface BasicAuthOptions {
  /** Where the credentials are kept: `sessionStorage` outlives a reload of the page. Default: in memory. */
  readonly storage?: CredentialStorage
  /**
   * A path behind the base URL that only users may read. Default: `/-/session`, which there is unless the service is mounted with
   * `explorer: false` or `openapi: false`.
   */
  readonly check?: string
}
/** As much of the browser's `Storage`. */
export interface CredentialStorage {
  readonly getItem: (key: string) => string | null
  readonly setItem: (key: string, value: string) => void
  readonly removeItem: (key: string) => void
}

/** What react-admin 5 calls an AuthProvider. */
export interface AuthProvider {
  /** Rejects, with a message for the page, where the service does not know the user. */
  readonly login: (credentials: { readonly username: string; readonly password: string }) => Promise<void>
  readonly logout: () => Promise<void>
  readonly checkAuth: () => Promise<void>
  /** Rejects for a 401 when the credentials are good no more. To a user it says only what is not for him. */
  readonly checkError: (error: { readonly status?: number }) => Promise<void>
  readonly getIdentity: () => Promise<{ id: Identifier; fullName: string }>
}

export interface BasicAuth {
  readonly authProvider: AuthProvider
  /** For the data provider: sends the credentials of who has signed in. */
  readonly fetch: typeof fetch
}

interface User {
  readonly id: Identifier
  readonly username: string
  /** The header. */
  readonly authorization: string
}

/**
 * HTTP Basic by react-admin's own sign-in page.
 * @param baseUrl where the service is mounted: `/api`
 * @example
 * const { authProvider, fetch } = createBasicAuth('/api')
 * const dataProvider = createDataProvider('/api', { fetch })
 */
export function createBasicAuth(baseUrl: string, options: BasicAuthOptions = {}): BasicAuth {
  const { storage = createMemory(), check = '/-/session' } = options
  const key = `typeorm-resources ${baseUrl}`
  const userOf = (): User | undefined => JSON.parse(storage.getItem(key) ?? 'null') ?? undefined
  const ask = (authorization: string): Promise<Response> =>
    send(baseUrl.replace(/\/+$/, '') + check, undefined, authorization)
  const authProvider: AuthProvider = {
    login: async ({ username, password }) => {
      const authorization = basic(username, password)
      const id = await idOf(await ask(authorization))
      storage.setItem(key, JSON.stringify({ id: id ?? username, username, authorization } satisfies User))
    },
    logout: async () => storage.removeItem(key),
    checkAuth: async () => void requireUser(userOf()),
    checkError: async ({ status }) => {
      if (status !== 401) return
      const answer = await ask(requireUser(userOf()).authorization)
      if (answer.status === 401) throw new Error(wrongCredentials)
    },
    getIdentity: async () => {
      const { id, username } = requireUser(userOf())
      return { id, fullName: username }
    },
  }
  return { authProvider, fetch: (input, init) => send(input, init, userOf()?.authorization) }
}

/** @throws where the service does not know the user */
async function idOf(answer: Response): Promise<Identifier | undefined> {
  if (answer.status === 401) throw new Error(wrongCredentials)
  if (!answer.ok) throw new Error(`The service answers ${answer.status}`)
  const { id } = (await answer.json()) as Partial<User>
  return id
}

const wrongCredentials = 'The username or the password is wrong'

/** Without the browser's own sign-in window, which a 401 opens otherwise. */
function send(
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

function createMemory(): CredentialStorage {
  const values = new Map<string, string>()
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  }
}
