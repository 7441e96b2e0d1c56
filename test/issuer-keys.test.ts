import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { bearer, Resource, userRule } from 'typeorm-resources'
import { type Reply, send } from './client'
import { type KeyServer, openKeyServer } from './support/key-server'
import { audience, claimsOf, issuer, signToken } from './support/tokens'
import { openWorld, type World } from './world/world'

@Entity()
@Resource({ auth: userRule() })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

interface IssuerKey {
  readonly kid: string
  readonly privateKey: KeyObject
  /** The JSON Web Key in the key set. */
  readonly jwk: object
}

function createKey(kid: string): IssuerKey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } }
}

const [first, second, other] = [createKey('first'), createKey('second'), createKey('other')]
/** Another token for each call, so that none has been verified before. */
let count = 0
const tokenOf = ({ privateKey, kid }: IssuerKey): string =>
  signToken({ alg: 'ES256', kid }, claimsOf({ sub: '1', jti: String(count++) }), privateKey)

/**
 * What fake timers leave as it is: everything but `performance.now()`, which measures the age of keys and of verified
 * tokens. Databases and HTTP need real timers.
 */
const realFunctions = [
  ...(['Date', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
]

let server: KeyServer
let world: World
beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: realFunctions })
  server = await openKeyServer([first.jwk])
  const authenticator = bearer({
    ...{ jwks: server.url, issuer, audience, algorithms: ['ES256'] },
    principal: ({ sub }) => ({ id: Number(sub) }),
  })
  world = await openWorld({ entities: [Note], mount: { authenticators: [authenticator] } })
})
afterEach(async () => {
  jest.useRealTimers()
  await world.close()
  await server.close()
})

const listWith = (token: string): Promise<Reply> =>
  send(world.url, 'GET /api/note/', { headers: { Authorization: `Bearer ${token}` } })
const statusOf = async (token: string): Promise<number> => (await listWith(token)).status
const statusesOf = async (tokens: readonly string[]): Promise<readonly number[]> =>
  [...new Set(await Promise.all(tokens.map(statusOf)))].toSorted()
const many = (key: IssuerKey): readonly string[] => Array.from({ length: 30 }, () => tokenOf(key))

test('the keys are read once, when the first token is verified', async () => {
  expect(server.requests()).toBe(0)
  expect(await statusesOf(many(first))).toEqual([200])
  expect(await statusesOf(many(first))).toEqual([200])
  expect(server.requests()).toBe(1)
})

test('an unknown kid reads the keys at most every ten seconds, so that a rotation is noticed', async () => {
  await statusOf(tokenOf(first))
  server.respondWith({ keys: [second.jwk] })
  for (let round = 0; round < 5; round++) expect(await statusesOf([...many(second), ...many(other)])).toEqual([401])
  expect(server.requests()).toBe(1)
  jest.advanceTimersByTime(9999)
  expect(await statusesOf(many(second))).toEqual([401])
  jest.advanceTimersByTime(1)
  expect(await statusesOf(many(second))).toEqual([200])
  for (let round = 0; round < 5; round++) expect(await statusesOf([...many(first), ...many(other)])).toEqual([401])
  expect(server.requests()).toBe(2)
})

test('known keys are used while the issuer cannot be reached, and unknown ones are neither wrong nor right', async () => {
  await statusOf(tokenOf(first))
  server.respondWith(undefined)
  expect(await statusesOf([...many(first), tokenOf(other)])).toEqual([200, 401])
  jest.advanceTimersByTime(10_000)
  expect(await statusesOf(many(other))).toEqual([503])
  expect(await statusesOf(many(first))).toEqual([200])
  expect(world.faults).toHaveLength(1)
})

describe('keys that are ten minutes old', () => {
  const minute = 60_000

  test('are read again once, and a key that the issuer has removed stops working', async () => {
    expect(await statusOf(tokenOf(first))).toBe(200)
    server.respondWith({ keys: [second.jwk] })
    jest.advanceTimersByTime(10 * minute)
    expect(await statusesOf(many(first))).toEqual([200])
    expect(server.requests()).toBe(1)
    jest.advanceTimersByTime(1)
    expect(await statusesOf(many(first))).toEqual([401])
    expect(await statusesOf(many(second))).toEqual([200])
    expect(server.requests()).toBe(2)
  })

  test('a token that was verified with a removed key is accepted for one more minute', async () => {
    await statusOf(tokenOf(first))
    server.respondWith({ keys: [second.jwk] })
    jest.advanceTimersByTime(10 * minute)
    const token = tokenOf(first)
    expect(await statusOf(token)).toBe(200)
    jest.advanceTimersByTime(minute - 1)
    expect(await statusesOf([token, tokenOf(first)])).toEqual([200, 401])
    jest.advanceTimersByTime(1)
    expect(await statusOf(token)).toBe(401)
  })

  test('are used while the issuer cannot be reached', async () => {
    await statusOf(tokenOf(first))
    server.respondWith(undefined)
    jest.advanceTimersByTime(24 * 60 * minute)
    expect(await statusesOf(many(first))).toEqual([200])
    expect(world.faults).toHaveLength(1)
    server.respondWith({ keys: [second.jwk] })
    jest.advanceTimersByTime(1000)
    // The first request after a failure reads the keys but does not wait for them.
    await statusOf(tokenOf(second))
    expect(await statusesOf([tokenOf(first), tokenOf(second)])).toEqual([200, 401])
  })
})

const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })

describe.each<[rule: string, keys: readonly object[]]>([
  ['no keys', []],
  ['a key for encryption only', [{ ...second.jwk, use: 'enc' }]],
  ['a key only to sign', [{ ...second.jwk, key_ops: ['sign'] }]],
  ['a secret only', [{ kty: 'oct', k: 'c2VjcmV0', kid: 'second' }]],
  ['keys of another type and another algorithm', [small, { ...second.jwk, alg: 'ES384' }]],
  ['a point that is not on the curve', [{ ...second.jwk, x: 'AAAA' }]],
  ['a private key', [{ ...second.privateKey.export({ format: 'jwk' }), kid: 'second' }]],
])('a key set with %s', (_, keys) => {
  test('does not replace the known keys when a token has an unknown kid', async () => {
    await statusOf(tokenOf(first))
    server.respondWith({ keys })
    jest.advanceTimersByTime(10_000)
    expect(await statusesOf(many(second))).toEqual([503])
    expect(await statusesOf(many(first))).toEqual([200])
    expect(server.requests()).toBe(2)
    expect(world.faults).toMatchObject([{ message: `the keys of tokens could not be read from ${server.url}` }])
    server.respondWith({ keys: [second.jwk] })
    jest.advanceTimersByTime(1000)
    expect(await statusesOf([tokenOf(second), tokenOf(second)])).toEqual([200])
    expect(await statusesOf(many(first))).toEqual([401])
  })

  test('does not replace keys that are ten minutes old', async () => {
    await statusOf(tokenOf(first))
    server.respondWith({ keys })
    jest.advanceTimersByTime(600_001)
    expect(await statusesOf(many(first))).toEqual([200])
    expect(server.requests()).toBe(2)
    expect(world.faults).toHaveLength(1)
  })
})

describe('keys that cannot be read', () => {
  test.each<[rule: string, body: unknown, status: number]>([
    ['no response', undefined, 200],
    ['status 500', 'error', 500],
    ['status 404, with keys', { keys: [first.jwk] }, 404],
    ['a redirect', '', 302],
    ['HTML', '<!doctype html>', 200],
    ['an empty response', '', 200],
    ['another object', { issuer }, 200],
    ['keys that are no array', { keys: first.jwk }, 200],
    ['a key that is no object', { keys: ['x'] }, 200],
    ['no keys', { keys: [] }, 200],
    ['a key for encryption only', { keys: [{ ...first.jwk, use: 'enc' }] }, 200],
    ['more than 1 MB', { keys: [first.jwk], filler: 'x'.repeat(1_000_000) }, 200],
  ])('%s', async (_, body, status) => {
    server.respondWith(body, status)
    const token = tokenOf(first)
    const { headers, text, ...reply } = await listWith(token)
    expect(reply.status).toBe(503)
    expect(headers['retry-after']).toBe('1')
    expect(JSON.parse(text)).toMatchObject({ type: 'urn:typeorm-resources:unavailable' })
    expect(await statusesOf([...many(first), ...many(other)])).toEqual([503])
    // The keys are requested again one second after a failure at the earliest.
    jest.advanceTimersByTime(999)
    expect(await statusOf(token)).toBe(503)
    expect(server.requests()).toBe(1)
    expect(world.faults).toMatchObject([{ message: `the keys of tokens could not be read from ${server.url}` }])

    server.respondWith({ keys: [first.jwk] })
    jest.advanceTimersByTime(1)
    expect(await statusOf(token)).toBe(200)
  })

  test.each<[rule: string, jwk: object]>([
    ['a point that is not on the curve', { ...first.jwk, x: 'AAAA' }],
    ['a private key', first.privateKey.export({ format: 'jwk' })],
  ])('a key with %s', async (_, jwk) => {
    server.respondWith({ keys: [{ ...jwk, kid: 'first' }, second.jwk] })
    expect(await statusOf(tokenOf(first))).toBe(503)
    // Everybody can send such tokens, so the cause is reported once in ten minutes.
    expect(await statusesOf(many(first))).toEqual([503])
    expect(world.faults).toMatchObject([{ message: 'a key of the issuer cannot verify tokens' }])
    jest.advanceTimersByTime(600_000)
    expect(await statusesOf(many(first))).toEqual([503])
    expect(world.faults).toHaveLength(2)
  })

  test.each<[rule: string, jwk: object]>([
    ['for encryption', { ...first.jwk, use: 'enc' }],
    ['of another type', { ...small, kid: 'first' }],
    ['with a secret', { kty: 'oct', k: 'c2VjcmV0', kid: 'first' }],
    ['of another algorithm', { ...first.jwk, alg: 'ES384' }],
  ])('a key %s is not used', async (_, jwk) => {
    server.respondWith({ keys: [jwk, second.jwk] })
    expect(await statusesOf([tokenOf(first), tokenOf(second)])).toEqual([200, 401])
  })
})
