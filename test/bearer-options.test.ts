import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { Column, Entity, Index, PrimaryGeneratedColumn, Unique } from 'typeorm'
import { type BearerOptions, bearer, ConfigError, Resource, UserAccount, userRule } from 'typeorm-resources'
import { openWorld } from './world/world'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey
const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey
const jwk = { ...ec.export({ format: 'jwk' }), kid: 'a' }
const secret = 'canary-secret-of-at-least-32-bytes'
const correct: BearerOptions = {
  issuer: 'https://issuer.example.org/',
  audience: 'api',
  algorithms: ['ES256'],
  keys: ec,
  principal: () => null,
}

/** Every set of options is the correct one with these changes. */
const mistakes: readonly (readonly [changes: object, ...messages: string[]])[] = [
  [{ audiance: 'x' }, 'unknown option "audiance"; options: jwks, keys, secret, issuer, audience, audienceClaim,'],
  [{ issuer: '' }, '"issuer" must be the value of the claim "iss", or an array of values'],
  [{ issuer: [] }, '"issuer" must be'],
  [{ audience: ['api', 1] }, '"audience" must be the value of the claim "aud" for this API, or an array of values'],
  [{ audienceClaim: 1 }, '"audienceClaim" must be the name of a claim'],
  [{ typ: '' }, '"typ" must be a type of tokens, such as "at+jwt"'],
  ...[-1, 301, '5', Number.NaN].map(
    (clockTolerance) => [{ clockTolerance }, '"clockTolerance" must be a number of seconds from 0 to 300'] as const,
  ),
  ...['a"b', 'a\\b', 'a\r\nb', 'ä', ''].map((realm) => [{ realm }, '"realm" must be a string of ASCII'] as const),
  [{ user: { claim: 'sub', property: 'email' } }, 'exactly one of "principal" and "user" is required'],
  [{ principal: 'sub' }, '"principal" must be a function'],
  [{ principal: undefined, user: { claim: 'sub' } }, '"user" must be { claim, property }'],
  [{ principal: undefined, user: { claim: 'sub', property: 'id', column: 'x' } }, '"user" must be { claim, property }'],
  ...[[], 'ES256', ['none'], ['ES256', 'none'], ['es256'], ['ES256K'], ['RSA-OAEP'], [null]].map(
    (algorithms) => [{ algorithms }, '"algorithms" must be an array of permitted algorithms: RS256,'] as const,
  ),
  [{ algorithms: ['ES256', 'HS256'] }, '"algorithms" has HS256: those that begin with HS require "secret"'],
  [{ algorithms: ['HS256'] }, '"algorithms" has HS256: those that begin with HS require "secret"'],
  [{ keys: undefined, secret }, '"algorithms" has ES256: those that begin with HS require "secret"'],
  [{ keys: undefined, jwks: 'https://a.example.org', algorithms: ['HS256'] }, '"algorithms" has HS256'],
  [{ secret }, '"algorithms" has ES256', 'exactly one of "jwks", "keys" and "secret" is required'],
  [{ jwks: 'https://issuer.example.org/keys' }, 'exactly one of "jwks", "keys" and "secret" is required'],
  ...['keys', 'http://issuer.example.org/keys', 'ftp://localhost/keys', 'https://a:b@issuer.example.org/', {}].map(
    (jwks) => [{ keys: undefined, jwks }, '"jwks" must be a URL with https, or with http and a loopback'] as const,
  ),
  ...[
    ['', 'HS256', 32],
    ['x'.repeat(31), 'HS256', 32],
    ['x'.repeat(47), 'HS384', 48],
    [new Uint8Array(63), 'HS512', 64],
    [1, 'HS256', 32],
  ].map(
    ([short, algorithm, bytes]) =>
      [
        { keys: undefined, secret: short, algorithms: [algorithm] },
        `"secret" must be a string or a Uint8Array of at least ${bytes} bytes`,
      ] as const,
  ),
  ...['canary', '', {}, null, 1, createSecretKey(Buffer.from(secret)), { ...jwk, use: 'enc' }, { ...jwk, kid: 1 }].map(
    (keys) => [{ keys }, '"keys" must be a public key: PEM, a KeyObject or a JSON Web Key for signatures'] as const,
  ),
  [{ keys: [] }, '"keys" must have a key'],
  [{ keys: [ec, 'canary'] }, '"keys" at position 2 must be a public key'],
  [{ keys: rsa }, '"keys" suits none of the algorithms ES256'],
  [{ keys: generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey, algorithms: ['RS256'] }, 'need 2048 bits'],
  [{ keys: { ...jwk, alg: 'ES384' } }, '"keys" suits none of the algorithms ES256'],
  [{ keys: generateKeyPairSync('x25519').publicKey, algorithms: ['EdDSA'] }, 'suits none of the algorithms EdDSA'],
  [{ algorithms: ['ES256', 'ES384'] }, '"keys" has no key for ES384'],
  [{ keys: [ec, ec] }, '"keys" has several keys for ES256: each must be a JSON Web Key with a "kid" of its own'],
  [{ keys: [jwk, ec] }, '"keys" has several keys for ES256'],
  [{ keys: [jwk, { ...jwk }] }, '"keys" has several keys for ES256'],
  [{ issuer: 1, audience: 1, jwks: 1 }, '"issuer" must be', '"audience" must be', 'exactly one of "jwks"'],
  ...['issuer', 'audience', 'algorithms', 'typ', 'keys', 'principal'].map(
    (name) =>
      [
        { [name]: undefined },
        `"${name}" is undefined; check for a missing environment variable or a circular import`,
      ] as const,
  ),
  [{ keys: undefined, secret: undefined, algorithms: ['HS256'] }, '"keys" is undefined', '"secret" is undefined'],
  [{ principal: undefined, user: undefined }, '"principal" is undefined', '"user" is undefined'],
]

test.each(mistakes.map(([changes, ...messages]) => ({ changes, messages })))(
  'mistake %#: $messages',
  ({ changes, messages }) => {
    let error: unknown
    try {
      bearer({ ...correct, ...changes })
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(TypeError)
    const { message } = error as TypeError
    for (const text of messages) expect(message).toContain(text)
    expect(message.split('\n')).toHaveLength(messages.length + 1)
    expect(message).not.toMatch(/canary/)
  },
)

test.each<[rule: string, changes: object]>([
  ['a URL', { keys: undefined, jwks: new URL('https://issuer.example.org/keys') }],
  ['a loopback address', { keys: undefined, jwks: 'http://[::1]:8080/keys' }],
  ['a secret as bytes', { keys: undefined, secret: new Uint8Array(32), algorithms: ['HS256'] }],
  ['several issuers', { issuer: ['a', 'b'] }],
  ['two keys with different kids', { keys: [jwk, { ...jwk, kid: 'b' }] }],
])('bearer() with %s is correct', (_, changes) => {
  expect(bearer({ ...correct, ...changes }).scheme).toBe('Bearer')
})

test.each([undefined, {}])('bearer(%p) reports what is missing', (options) => {
  expect(() => bearer(options as unknown as BearerOptions)).toThrow(
    new TypeError(
      [
        'bearer() has invalid options:',
        '  - "issuer" must be the value of the claim "iss", or an array of values',
        '  - "audience" must be the value of the claim "aud" for this API, or an array of values',
        '  - exactly one of "principal" and "user" is required: a function, or { claim, property }',
        '  - "algorithms" must be an array of permitted algorithms: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ' +
          'ES384, ES512, EdDSA, Ed25519, HS256, HS384, HS512',
        '  - exactly one of "jwks", "keys" and "secret" is required',
      ].join('\n'),
    ),
  )
})

test('an undefined secret is blamed, not the algorithms that need it', () => {
  const { keys: _, ...others } = correct
  expect(() => bearer({ ...others, algorithms: ['HS256'], ...{ secret: undefined } } as never)).toThrow(
    new TypeError(
      'bearer() has invalid options:\n' +
        '  - "secret" is undefined; check for a missing environment variable or a circular import',
    ),
  )
})

@Entity()
@UserAccount()
@Unique(['pair', 'other'])
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Index({ unique: true }) @Column() email!: string
  @Column() password!: string
  @Column() shared!: string
  @Column({ unique: true }) flag!: boolean
  @Column({ unique: true }) date!: Date
  @Column() pair!: string
  @Column() other!: string
  @Index({ unique: true, where: '"some" > 0' }) @Column() some!: number
}

@Entity()
@Resource({ auth: userRule() })
class Item {
  @PrimaryGeneratedColumn() id!: number
}

const { principal: _, ...identified } = correct
const mountWith = (property: string, entities = [Person, Item]) =>
  openWorld({ entities, mount: { authenticators: [bearer({ ...identified, user: { claim: 'sub', property } })] } })

test.each(['id', 'username', 'email'])('users can be found by %s', async (property) => {
  await (await mountWith(property)).close()
})

test.each(['shared', 'flag', 'date', 'pair', 'some', 'unknown', 'password', 'constructor'])(
  'users cannot be found by %s',
  async (property) => {
    const message =
      `Person: users cannot be found by "${property}": name a unique column of texts or integers in the options of the ` +
      'authenticator; columns: id, username, email'
    await expect(mountWith(property)).rejects.toThrow(new ConfigError([message]))
  },
)

test('users cannot be found without a user entity', async () => {
  const mount = mountWith('id', [Item as typeof Person])
  await expect(mount).rejects.toThrow(
    'bearer() needs users; put @UserAccount() on their entity or set the option "users"',
  )
})
