import * as reactAdmin from '../../src/admin/react-admin'
import * as refine from '../../src/admin/refine'
import type { CredentialStorage } from '../../src/admin/sign-in'
import { createSchemes } from '../support/schemes'
import { User } from '../world/entities'
import { openWorld, type World } from '../world/world'

const { authenticators, tokens } = createSchemes()
const bob = { id: 2, admin: false }
let world: World
let baseUrl: string
let renewals = 0

beforeAll(async () => {
  world = await openWorld({ mount: { authenticators } })
  baseUrl = `${world.url}/api`
})
beforeEach(() => {
  tokens.clear()
  tokens.set('token-1', bob)
  renewals = 0
})
afterAll(() => world.close())

/** Stands for the login of an application. */
const login = ({ username, password }: { username: string; password: string }): string => {
  if (password === 'no') throw new Error('No such user')
  return `token-${password === username ? 1 : 'of-nobody'}`
}
const right = { username: 'bob', password: 'bob' }

/** Issues a new token with each call. */
const refresh = async (rejected: string): Promise<string> => {
  await new Promise((resolve) => setTimeout(resolve, 20))
  renewals++
  const token = `${rejected}-${renewals}`
  tokens.set(token, bob)
  return token
}

function createStorage(): CredentialStorage & { readonly values: Map<string, string> } {
  const values = new Map<string, string>()
  return {
    values,
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  }
}

describe('tokens for react-admin', () => {
  const create = (options: Partial<reactAdmin.TokenAuthOptions> = {}) => {
    const auth = reactAdmin.createTokenAuth(baseUrl, { login, ...options })
    return { ...auth, provider: reactAdmin.createDataProvider(baseUrl, { fetch: auth.fetch }) }
  }

  test('after signing in, the identity is known and the token is sent', async () => {
    const { authProvider, provider } = create()
    await expect(authProvider.checkAuth()).rejects.toThrow('Nobody has signed in')
    await expect(provider.getList('message', {})).rejects.toMatchObject({ status: 401 })
    await expect(authProvider.login({ username: 'bob', password: 'no' })).rejects.toThrow('No such user')
    await expect(authProvider.login({ username: 'bob', password: 'x' })).rejects.toThrow('does not accept the token')
    await expect(authProvider.checkAuth()).rejects.toThrow('Nobody has signed in')
    await authProvider.login(right)
    await authProvider.checkAuth()
    expect(await authProvider.getIdentity()).toEqual({ id: 2, fullName: 'bob' })
    expect((await provider.getList('message', {})).data).toHaveLength(3)
    await authProvider.logout()
    await expect(authProvider.checkAuth()).rejects.toThrow('Nobody has signed in')
    await expect(provider.getList('message', {})).rejects.toMatchObject({ status: 401 })
  })

  test('a sign-in page can have other values than a name and a password', async () => {
    const { authProvider } = reactAdmin.createTokenAuth(baseUrl, { login: ({ code }: { code: string }) => code })
    await authProvider.login({ code: 'token-1' })
    expect(await authProvider.getIdentity()).toEqual({ id: 2, fullName: '2' })
  })

  test('requests at the same time share one renewal, and the new token is stored', async () => {
    const storage = createStorage()
    const { authProvider, provider } = create({ refresh, storage })
    await authProvider.login(right)
    tokens.delete('token-1')
    await Promise.all(Array.from({ length: 5 }, () => provider.getList('message', {})))
    expect(renewals).toBe(1)
    expect([...storage.values.values()].map((text) => JSON.parse(text))).toEqual([
      { id: 2, username: 'bob', authorization: 'Bearer token-1-1' },
    ])
    const reloaded = create({ refresh, storage })
    expect((await reloaded.provider.getList('message', {})).data).toHaveLength(3)
    expect(await reloaded.authProvider.getIdentity()).toEqual({ id: 2, fullName: 'bob' })
    expect(renewals).toBe(1)
  })

  test('a write is repeated with the new token', async () => {
    const { authProvider, provider } = create({ refresh })
    await authProvider.login(right)
    tokens.delete('token-1')
    const { data } = await provider.create<{ id: number }>('message', { data: { message: 'again' } })
    expect(data).toMatchObject({ message: 'again', user_id: 2 })
    await provider.delete('message', { id: data.id })
  })

  test('a user who signs out during a renewal stays signed out', async () => {
    const storage = createStorage()
    const { authProvider, provider } = create({ refresh, storage })
    await authProvider.login(right)
    tokens.delete('token-1')
    const list = provider.getList('message', {})
    const result = expect(list).rejects.toMatchObject({ status: 401 })
    while (storage.values.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      await authProvider.logout()
    }
    await result
    await expect(authProvider.checkAuth()).rejects.toThrow('Nobody has signed in')
  })

  test('an error of the renewal does not sign the user out', async () => {
    const { authProvider, provider } = create({
      refresh: () => {
        throw new Error('The provider is down')
      },
    })
    await authProvider.login(right)
    tokens.delete('token-1')
    await expect(provider.getList('message', {})).rejects.toThrow('The provider is down')
    await authProvider.checkError({})
    tokens.set('token-1', bob)
    await authProvider.checkAuth()
    expect((await provider.getList('message', {})).data).toHaveLength(3)
  })

  test.each<[string, reactAdmin.TokenAuthOptions['refresh'] | undefined]>([
    ['without renewal', undefined],
    ['if there is no new token', () => null],
    ['if the new token is wrong', () => 'of-nobody'],
  ])('a 401 ends the session only if the token is not valid any more: %s', async (_, own) => {
    const { authProvider } = create(own && { refresh: own })
    await authProvider.login(right)
    for (const status of [401, 403, 500]) await authProvider.checkError({ status })
    tokens.delete('token-1')
    await authProvider.checkError({ status: 403 })
    await expect(authProvider.checkError({ status: 401 })).rejects.toThrow('The token has expired')
  })
})

describe.each<[string, () => Pick<refine.BasicAuth, 'authProvider' | 'fetch'>]>([
  ['names and passwords', () => refine.createBasicAuth(baseUrl, { loginPath: '/sign-in' })],
  ['tokens', () => refine.createTokenAuth(baseUrl, { login, loginPath: '/sign-in' })],
])('%s for Refine', (_, create) => {
  test('signing in and out', async () => {
    const { authProvider, fetch: send } = create()
    const provider = refine.createDataProvider(baseUrl, { fetch: send })
    expect(await authProvider.check()).toEqual({ authenticated: false, redirectTo: '/sign-in' })
    expect(await authProvider.getIdentity()).toBeNull()
    const wrong = await authProvider.login({ username: 'bob', password: 'no' })
    expect(wrong).toEqual({ success: false, error: expect.any(Error) })
    expect(await authProvider.login(right)).toEqual({ success: true, redirectTo: '/' })
    expect(await authProvider.check()).toEqual({ authenticated: true })
    expect(await authProvider.getIdentity()).toEqual({ id: 2, name: 'bob' })
    expect((await provider.getList({ resource: 'message' })).total).toBe(3)
    expect(await authProvider.logout()).toEqual({ success: true, redirectTo: '/sign-in' })
    expect(await authProvider.check()).toMatchObject({ authenticated: false })
    await expect(provider.getList({ resource: 'message' })).rejects.toMatchObject({ statusCode: 401 })
  })

  test('an error signs the user out only if the credentials are not valid any more', async () => {
    const { authProvider } = create()
    await authProvider.login(right)
    for (const statusCode of [401, 403, 500]) expect(await authProvider.onError({ statusCode })).toEqual({})
    expect(await authProvider.onError({})).toEqual({})
    tokens.clear()
    await world.dataSource.getRepository(User).update(2, { active: false })
    const result = await authProvider.onError({ statusCode: 401 })
    await world.dataSource.getRepository(User).update(2, { active: true })
    expect(result).toEqual({ logout: true, redirectTo: '/sign-in', error: expect.any(Error) })
  })
})
