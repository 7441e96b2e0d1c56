import { type ClientOptions, createClient, ResourceError } from 'typeorm-resources/client'
import { rejection } from '../support/rejection'
import { createSchemes } from '../support/schemes'
import type { Message } from '../world/entities'
import { openWorld, type World } from '../world/world'

const { authenticators, tokens, keys } = createSchemes()
const bob = { id: 2, admin: false }
let world: World
/** `Authorization` of the requests of a test. */
const sent: (string | null)[] = []
const recording: typeof fetch = (input, init) => {
  sent.push(new Headers(init?.headers).get('Authorization'))
  return fetch(input, init)
}

beforeAll(async () => {
  world = await openWorld({ mount: { authenticators } })
})
beforeEach(() => {
  sent.splice(0)
  tokens.clear()
  tokens.set('valid', bob)
  keys.clear()
  keys.set('key-1', bob)
})
afterAll(() => world.close())

const messages = (options: ClientOptions) =>
  createClient<{ message: Message }>(`${world.url}/api`, { ...options, fetch: recording }).message

const refusal = async (work: Promise<unknown>): Promise<number> => (await rejection(work, ResourceError)).status

test.each<[string, ClientOptions, string]>([
  ['a name and a password', { username: 'bob', password: 'bob' }, 'Basic Ym9iOmJvYg=='],
  ['a token', { token: 'valid' }, 'Bearer valid'],
  ['a token with the end of a line, as read from a file', { token: 'valid\n' }, 'Bearer valid'],
  ['a function that returns a token', { token: () => 'valid' }, 'Bearer valid'],
  ['a function that returns a promise', { token: async () => 'valid' }, 'Bearer valid'],
  ['an API key', { apiKey: 'key-1' }, 'ApiKey key-1'],
  ['a header of its own instead', { token: 'other', headers: { authorization: 'Bearer valid' } }, 'Bearer valid'],
])('the client signs in with %s', async (_, options, header) => {
  expect((await messages(options).list()).objects.length).toBeGreaterThan(0)
  expect(sent).toEqual([header])
})

test.each<[string, ClientOptions, (string | null)[]]>([
  ['a name and a password', { username: 'bob', password: 'no' }, ['Basic Ym9iOm5v']],
  ['a token', { token: 'expired' }, ['Bearer expired']],
  ['a function that has no other token', { token: () => 'expired' }, ['Bearer expired']],
  ['a function that has no token', { token: () => null }, [null]],
  ['a function that has none after the first', { token: (old) => (old ? null : 'expired') }, ['Bearer expired']],
  ['an API key', { apiKey: 'expired' }, ['ApiKey expired']],
])('after a 401 the request is not repeated with %s', async (_, options, headers) => {
  expect(await refusal(messages(options).list())).toBe(401)
  expect(sent).toEqual(headers)
})

test('after a 401 a request is repeated once, with the token that the function returns for the rejected one', async () => {
  const token = (rejected?: string): string => (rejected === 'expired' ? 'valid' : 'expired')
  const { id } = await messages({ token }).create({ message: 'x' })
  expect(sent).toEqual(['Bearer expired', 'Bearer valid'])
  expect(await messages({ apiKey: 'key-1' }).get(id)).toMatchObject({ message: 'x', user_id: 2 })
})

test('if the second token is rejected too, the request fails', async () => {
  expect(await refusal(messages({ token: (rejected = '') => `${rejected}x` }).list())).toBe(401)
  expect(sent).toEqual(['Bearer x', 'Bearer xx'])
})

/** A token that can be renewed once, as with refresh tokens that work only once. */
class Renewable {
  stored = 'expired'
  renewals = 0
  readonly token = async (rejected?: string): Promise<string> => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (rejected === undefined) return this.stored
    this.renewals++
    tokens.set(`valid-${this.renewals}`, bob)
    this.stored = `valid-${this.renewals}`
    return this.stored
  }
}

test('requests at the same time share one renewal', async () => {
  const renewable = new Renewable()
  const resource = messages({ token: renewable.token })
  await Promise.all(Array.from({ length: 10 }, () => resource.list()))
  expect(renewable.renewals).toBe(1)
  expect(sent).toHaveLength(20)
})

test('a 401 that arrives after a renewal uses the renewed token', async () => {
  const renewable = new Renewable()
  let isLate = true
  const late: typeof fetch = async (input, init) => {
    const isDelayed = isLate
    isLate = false
    const response = await recording(input, init)
    if (isDelayed) await new Promise((resolve) => setTimeout(resolve, 400))
    return response
  }
  const delayed = createClient<{ message: Message }>(`${world.url}/api`, {
    token: renewable.token,
    fetch: late,
  }).message
  await Promise.all([delayed.list(), delayed.list()])
  expect(renewable.renewals).toBe(1)
})

test('a token can be renewed again after it has expired again', async () => {
  const renewable = new Renewable()
  const resource = messages({ token: renewable.token })
  await resource.list()
  tokens.clear()
  await resource.list()
  expect(renewable.renewals).toBe(2)
})

test('errors of the function are thrown, and the next request calls it again', async () => {
  let isDown = true
  const resource = messages({
    token: (rejected) => {
      if (rejected === undefined) return 'expired'
      if (isDown) throw new Error('the provider is down')
      return 'valid'
    },
  })
  const results = await Promise.allSettled([resource.list(), resource.list()])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(resource.list()).rejects.toThrow('the provider is down')
  isDown = false
  expect((await resource.list()).objects.length).toBeGreaterThan(0)
})

test.each<[string, object]>([
  ['a name and a token', { username: 'ann', token: 'x' }],
  ['a password and a token', { password: 'secret', token: () => 'x' }],
  ['a token and an API key', { token: 'x', apiKey: 'y' }],
  ['a name and an API key', { username: 'ann', apiKey: 'y' }],
])('credentials of several schemes are an error: %s', (_, options) => {
  expect(() => createClient('/api', options as ClientOptions)).toThrow(
    new TypeError('only one of the options "username", "token" and "apiKey" can be set'),
  )
})

test.each(['canary\nsecret', 'canary secret', 'canary…'])(
  'the error for an invalid token does not contain it',
  async (token) => {
    const message = 'a token or API key must consist of ASCII characters without spaces'
    expect(() => createClient('/api', { token })).toThrow(new TypeError(message))
    expect(() => createClient('/api', { apiKey: token })).toThrow(new TypeError(message))
    await expect(messages({ token: () => token }).list()).rejects.toThrow(new TypeError(message))
  },
)
