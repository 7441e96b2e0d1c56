import { generateKeyPairSync } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import {
  type BearerOptions,
  basic,
  bearer,
  mountResources,
  type RefusalEvent,
  Resource,
  UserAccount,
  userRule,
} from 'typeorm-resources'
import { send } from '../client'
import { type KeyServer, openKeyServer } from '../support/key-server'
import { audience, claimsOf, encode, issuer, now, signToken } from '../support/tokens'
import { openWorld, type World } from '../world/world'

@Entity()
@UserAccount({ principal: ['role'] })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 100, unique: true }) username!: string
  @Column({ length: 100, unique: true }) email!: string
  @Column({ type: 'varchar', nullable: true }) password!: string | null
  @Column() role!: string
  @Column() active!: boolean
}

@Entity()
@Resource({ auth: userRule(), ownerField: 'member' })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @ManyToOne(() => Member, { nullable: false }) member!: Member
}

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve })
const pairs = {
  ES256: ec('prime256v1'),
  ES384: ec('secp384r1'),
  ES512: ec('secp521r1'),
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  EdDSA: generateKeyPairSync('ed25519'),
}
const attacker = ec('prime256v1')
const secret = 'a secret of the tests, at least 64 bytes long, so that it suits HS512'
const es256 = pairs.ES256
const pem = es256.publicKey.export({ type: 'spki', format: 'pem' }).toString()
const jwk = { ...es256.publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' }

const rsaAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const
const common = { issuer, audience, user: { claim: 'sub', property: 'email' } } as const
const options: Readonly<Record<string, BearerOptions>> = {
  '/api': { ...common, keys: [jwk], algorithms: ['ES256'], realm: 'tasks' },
  '/others': {
    ...common,
    keys: [pairs.ES384.publicKey, pairs.ES512.publicKey, pairs.EdDSA.privateKey, pairs.RS256.publicKey],
    algorithms: ['ES384', 'ES512', 'EdDSA', 'Ed25519', ...rsaAlgorithms],
  },
  '/secret': { ...common, secret, algorithms: ['HS256', 'HS384', 'HS512'] },
  '/pem': { ...common, keys: pem, algorithms: ['ES256'] },
  '/set': {
    ...common,
    keys: { keys: [jwk, { ...attacker.publicKey.export({ format: 'jwk' }), kid: 'k2' }] },
    algorithms: ['ES256'],
  },
  '/exact': { ...common, keys: [jwk], algorithms: ['ES256'], clockTolerance: 0, typ: 'at+jwt' },
  '/client': {
    ...common,
    keys: [jwk],
    algorithms: ['ES256'],
    audience: ['app-1', 'app-2'],
    audienceClaim: 'client_id',
  },
  '/key': { ...common, keys: [jwk], algorithms: ['ES256'], user: { claim: 'sub', property: 'id' } },
  '/function': {
    ...{ issuer, audience, keys: [jwk], algorithms: ['ES256'] },
    principal: async ({ sub, roles }) => {
      if (sub === 'none') return null
      return sub === 'mistake' ? Object({}) : { id: Number(sub), admin: [roles].flat().includes('admin') }
    },
  },
}

/** A correct token of ES256, with other claims and members of the header. */
const tokenOf = (claims: object = {}, header: object = {}): string =>
  signToken({ alg: 'ES256', kid: 'k1', ...header }, claimsOf(claims), es256.privateKey)

let world: World
let stranger: KeyServer
beforeAll(async () => {
  stranger = await openKeyServer([{ ...attacker.publicKey.export({ format: 'jwk' }), kid: 'k1' }])
  const seed: NonNullable<Parameters<typeof openWorld>[0]>['seed'] = async (dataSource) => {
    const member = (name: string, active = true): object => ({
      ...{ username: name, email: `${name}@example.org`, password: null, role: `role of ${name}`, active },
    })
    await dataSource.getRepository(Member).save(['ann', 'bob'].map((name) => member(name)))
    await dataSource.getRepository(Member).save(member('carl', false))
  }
  world = await openWorld({
    entities: [Member, Task],
    seed,
    mountOn: (app, dataSource) => {
      const mount = (prefix: string, one: BearerOptions) =>
        mountResources(app, dataSource, { prefix, authenticators: [basic(), bearer(one)] })
      return Object.entries(options).map(([prefix, one]) => mount(prefix, one))[0] as World['mounted']
    },
  })
})
afterAll(async () => {
  await world.close()
  await stranger.close()
})

const listWith = (authorization: string, prefix = '/api') =>
  send(world.url, `GET ${prefix}/task/`, { headers: { Authorization: authorization } })

describe('tokens that are accepted', () => {
  const signed = (alg: string, { privateKey }: { privateKey: typeof es256.privateKey }, kid?: string): string =>
    signToken({ alg, kid }, claimsOf(), privateKey)
  test.each<[rule: string, prefix: string, token: () => string]>([
    ['ES256', '/api', () => tokenOf()],
    ['ES384', '/others', () => signed('ES384', pairs.ES384)],
    ['ES512', '/others', () => signed('ES512', pairs.ES512)],
    ...rsaAlgorithms.map((alg): [string, string, () => string] => [alg, '/others', () => signed(alg, pairs.RS256)]),
    ['EdDSA', '/others', () => signed('EdDSA', pairs.EdDSA)],
    ['Ed25519', '/others', () => signed('Ed25519', pairs.EdDSA)],
    ...['HS256', 'HS384', 'HS512'].map((alg): [string, string, () => string] => [
      alg,
      '/secret',
      () => signToken({ alg }, claimsOf(), secret),
    ]),
    ['a key in PEM format, whatever the kid is', '/pem', () => signed('ES256', es256, 'any')],
    ['the first of two keys', '/set', () => signed('ES256', es256, 'k1')],
    ['the second of two keys', '/set', () => signed('ES256', attacker, 'k2')],
    ['no kid, with one key', '/api', () => signed('ES256', es256)],
    ['several audiences', '/api', () => tokenOf({ aud: ['other', audience] })],
    ['an audience in another claim', '/client', () => tokenOf({ aud: undefined, client_id: 'app-2' })],
    ['the required type', '/exact', () => tokenOf({}, { typ: 'at+jwt' })],
    ['the required type as a media type', '/exact', () => tokenOf({}, { typ: 'application/at+jwt' })],
    ['a clock that is 3 s behind', '/api', () => tokenOf({ nbf: now() + 3 })],
    ['a clock that is 3 s ahead', '/api', () => tokenOf({ exp: now() - 3 })],
    ['a user whose key is a text', '/key', () => tokenOf({ sub: '1' })],
    ['a user whose key is a number', '/key', () => tokenOf({ sub: 1 })],
    ['a principal of a function', '/function', () => tokenOf({ sub: '1' })],
    ['14,000 characters', '/api', () => tokenOf({ scope: 'x'.repeat(10_000) })],
  ])('%s', async (_, prefix, token) => {
    // The second time, the token is not verified again.
    const text = token()
    for (const scheme of ['Bearer', 'bearer']) expect((await listWith(`${scheme} ${text}`, prefix)).status).toBe(200)
  })

  test('the user owns what it creates', async () => {
    const headers = { Authorization: `Bearer ${tokenOf({ sub: 'bob@example.org' })}` }
    const reply = await send(world.url, 'POST /api/task/', { headers, body: { title: 'x' } })
    expect(reply.json()).toMatchObject({ title: 'x', member_id: 2 })
  })
})

/** Tokens that nobody who checks them may accept. */
const forged: readonly (readonly [rule: string, token: () => string, prefix?: string])[] = [
  ...['none', 'None', 'NONE', ''].flatMap((alg) => [
    [`the algorithm "${alg}"`, () => signToken({ alg, kid: 'k1' }, claimsOf(), undefined)] as const,
    [
      `the algorithm "${alg}", with the signature of another token`,
      () => `${signToken({ alg, kid: 'k1' }, claimsOf(), undefined)}${tokenOf().split('.')[2]}`,
    ] as const,
  ]),
  ...['/api', '/pem'].flatMap((prefix) => [
    ['HS256 with the public key as the secret', () => signToken({ alg: 'HS256' }, claimsOf(), pem), prefix] as const,
    [
      'HS256 with the JSON of the public key as the secret',
      () => signToken({ alg: 'HS256', kid: 'k1' }, claimsOf(), JSON.stringify(jwk)),
      prefix,
    ] as const,
  ]),
  ['HS256 with an empty secret', () => signToken({ alg: 'HS256', kid: 'k1' }, claimsOf(), '')],
  ['ES256 where a secret is configured', tokenOf, '/secret'],
  ['another secret', () => signToken({ alg: 'HS256' }, claimsOf(), `${secret}.`), '/secret'],
  ['an algorithm that is not permitted', () => signToken({ alg: 'ES384' }, claimsOf(), pairs.ES384.privateKey)],
  ['RS256 where ES256 is permitted', () => signToken({ alg: 'RS256', kid: 'k1' }, claimsOf(), pairs.RS256.privateKey)],
  ['another key', () => signToken({ alg: 'ES256', kid: 'k1' }, claimsOf(), attacker.privateKey)],
  ['another key, without a kid', () => signToken({ alg: 'ES256' }, claimsOf(), attacker.privateKey)],
  ['no kid where there are two keys', () => signToken({ alg: 'ES256' }, claimsOf(), es256.privateKey), '/set'],
  ['the kid of another key', () => tokenOf({}, { kid: 'k2' }), '/set'],
  ...[`' OR 1=1 --`, '../../../dev/null', '', '__proto__', 'constructor', 1, null, ['k1'], { k1: 1 }].map(
    (kid) => [`the kid ${JSON.stringify(kid)}`, () => tokenOf({}, { kid })] as const,
  ),
  [
    'the key of the attacker in the header',
    () => {
      const header = { alg: 'ES256', jwk: attacker.publicKey.export({ format: 'jwk' }) }
      return signToken(header, claimsOf(), attacker.privateKey)
    },
  ],
  ...['jku', 'x5u'].map(
    (name) =>
      [
        `the URL of a key of the attacker in ${name}`,
        () => signToken({ alg: 'ES256', kid: 'k1', [name]: stranger.url }, claimsOf(), attacker.privateKey),
      ] as const,
  ),
  ['a certificate in the header', () => signToken({ alg: 'ES256', x5c: ['MIIB'] }, claimsOf(), attacker.privateKey)],
  ['an unknown critical extension', () => tokenOf({}, { crit: ['x-policy'], 'x-policy': 1 })],
  ['a critical extension that is missing', () => tokenOf({}, { crit: ['exp'] })],
  ['no critical extension in crit', () => tokenOf({}, { crit: [] })],
  ['a payload without base64', () => tokenOf({}, { crit: ['b64'], b64: false })],
  ['no signature', () => `${tokenOf().split('.').slice(0, 2).join('.')}.`],
  ['two parts', () => tokenOf().split('.').slice(0, 2).join('.')],
  ['four parts', () => `${tokenOf()}.x`],
  ['five parts, as of an encrypted token', () => `${tokenOf()}.x.y`],
  ['no header', () => tokenOf().replace(/^[^.]+/, '')],
  ['no payload', () => tokenOf().replace(/\.[^.]+\./, '..')],
  ...[1, 2, 20, 80].map((count) => [`${count} characters less`, () => tokenOf().slice(0, -count)] as const),
  ['another payload', () => tokenOf().replace(/\.[^.]+\./, `.${encode(JSON.stringify(claimsOf({ sub: 'bob' })))}.`)],
  ['another header', () => tokenOf().replace(/^[^.]+/, encode('{"alg":"ES256","kid":"k1","x":1}'))],
  ['an empty ES256 signature', () => tokenOf().replace(/[^.]+$/, Buffer.alloc(64).toString('base64url'))],
  ['a token in a token', () => signToken({ alg: 'ES256', kid: 'k1', cty: 'JWT' }, tokenOf(), es256.privateKey)],
  ...['[]', '"text"', 'null', '1', '{', '', '{"exp":'].map(
    (payload) => [`the payload ${payload}`, () => signToken({ alg: 'ES256' }, payload, es256.privateKey)] as const,
  ),
  ...['[]', '"text"', 'null', '{', '{"kid":"k1"}', '{"alg":1}', '{"alg":["ES256"]}'].map(
    (header) => [`the header ${header}`, () => tokenOf().replace(/^[^.]+/, encode(header) || 'e')] as const,
  ),
  ...[
    { iss: 'https://evil.example.org/' },
    { iss: issuer.slice(0, -1) },
    { iss: [issuer] },
    { iss: undefined },
    { iss: null },
    { aud: 'https://other.example.org' },
    { aud: `${audience}/` },
    { aud: ['other'] },
    { aud: [] },
    { aud: { [audience]: true } },
    { aud: undefined },
    { exp: undefined },
    { exp: null },
    { exp: '9999999999' },
    { exp: 0 },
    { exp: -1 },
    { exp: now() - 8 },
    { nbf: now() + 30 },
    { nbf: '0' },
    { iat: 'today' },
  ].map((claims) => [`the claims ${JSON.stringify(claims)}`, () => tokenOf(claims)] as const),
  ['no audience in the other claim', () => tokenOf({ aud: 'app-1' }), '/client'],
  ['another audience in the other claim', () => tokenOf({ client_id: 'app-3' }), '/client'],
  ['no type', () => tokenOf(), '/exact'],
  ['another type', () => tokenOf({}, { typ: 'JWT' }), '/exact'],
  ['a type that is not a text', () => tokenOf({}, { typ: ['at+jwt'] }), '/exact'],
  ['a clock that is 3 s ahead, without tolerance', () => tokenOf({ exp: now() - 3 }, { typ: 'at+jwt' }), '/exact'],
  ['a clock that is 3 s behind, without tolerance', () => tokenOf({ nbf: now() + 3 }, { typ: 'at+jwt' }), '/exact'],
  ...[
    ...[undefined, null, '', 1, 1.5, true, {}, ['ann@example.org'], 'nobody@example.org', 'ANN@example.org'],
    ...['ann@example.org ', 'ánn@example.org', 'ann@example.org\0', `ann@example.org' --`, '\ud800', 'x'.repeat(5000)],
    ...['carl@example.org', 'ann'],
  ].map((sub) => [`the subject ${String(JSON.stringify(sub)).slice(0, 40)}`, () => tokenOf({ sub })] as const),
  ...['1e0', ' 1', '01', '1.0', '+1', 'x', '0x1', '3', '99999999999999999999', '-1', 99, -1, '1; --', 2 ** 31].map(
    (sub) => [`the key ${JSON.stringify(sub)}`, () => tokenOf({ sub }), '/key'] as const,
  ),
  ['a token that the function rejects', () => tokenOf({ sub: 'none' }), '/function'],
]

describe('tokens that are rejected', () => {
  test.each(forged.map(([rule, token, prefix = '/api']) => ({ rule, token, prefix })))(
    '$rule',
    async ({ token, prefix }) => {
      const reply = await listWith(`Bearer ${token()}`, prefix)
      const challenge = `Bearer ${prefix === '/api' ? 'realm="tasks", ' : ''}error="invalid_token"`
      expect(reply).toMatchObject({ status: 401, text: 'Authentication failed' })
      expect(reply.headers['www-authenticate']).toBe(`Basic realm="Login Required", ${challenge}`)
      expect(world.faults).toEqual([])
    },
  )

  test.each([
    ['no token', 'Bearer'],
    ['spaces', 'Bearer   '],
    ['two tokens', `Bearer ${tokenOf()} ${tokenOf()}`],
    ['two tokens with a comma', `Bearer ${tokenOf()},${tokenOf()}`],
    ['a parameter', `Bearer token=${tokenOf()}`],
    ['quotes', `Bearer "${tokenOf()}"`],
    ['characters of base64 that are not of base64url', `Bearer ${tokenOf()}+/=`],
  ])('a header with %s', async (_, header) => {
    const reply = await listWith(header)
    expect(reply.status).toBe(401)
    expect(reply.headers['www-authenticate']).toContain('error="invalid_token"')
  })

  test('no key of a header was requested', () => expect(stranger.requests()).toBe(0))

  test('a token of 1 MB is refused by Node.js', async () => {
    expect((await listWith(`Bearer ${tokenOf({ scope: 'x'.repeat(1_000_000) })}`)).status).toBe(431)
  })

  test('the challenge of a request without credentials has no error', async () => {
    const { headers } = await send(world.url, 'GET /api/task/')
    expect(headers['www-authenticate']).toBe('Basic realm="Login Required", Bearer realm="tasks"')
  })

  test('a token in the query or in the body is not read', async () => {
    const reply = await send(world.url, `POST /api/task/?access_token=${tokenOf()}`, {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `access_token=${tokenOf()}`,
    })
    expect(reply.status).toBe(401)
  })
})

test('a remembered token is rejected in the second in which it expires', async () => {
  const exp = now() + 2
  const authorization = `Bearer ${tokenOf({ exp }, { typ: 'at+jwt' })}`
  const replies: (readonly [isExpired: boolean, status: number])[] = []
  while (now() <= exp) {
    const before = now()
    const { status } = await listWith(authorization, '/exact')
    if (before === now()) replies.push([before >= exp, status])
  }
  expect(replies.filter(([isExpired, status]) => status !== (isExpired ? 401 : 200))).toEqual([])
  expect(new Set(replies.map(([, status]) => status))).toEqual(new Set([200, 401]))
})

test('a user who is deactivated loses access at once, also with a remembered token', async () => {
  const authorization = `Bearer ${tokenOf({ sub: 'bob@example.org' })}`
  const statuses = [(await listWith(authorization)).status]
  await world.sql(`UPDATE "member" SET "active" = '0' WHERE "username" = 'bob'`)
  statuses.push((await listWith(authorization)).status)
  await world.sql(`UPDATE "member" SET "active" = '1' WHERE "username" = 'bob'`)
  statuses.push((await listWith(authorization)).status)
  expect(statuses).toEqual([200, 401, 200])
})

test('a list with a token is one statement more than an anonymous one', async () => {
  await listWith(`Bearer ${tokenOf()}`)
  world.statements()
  await listWith(`Bearer ${tokenOf()}`)
  expect(world.statements()).toHaveLength(2)
})

test('a function that returns no principal is a fault', async () => {
  expect((await listWith(`Bearer ${tokenOf({ sub: 'mistake' })}`, '/function')).status).toBe(500)
  expect(world.faults).toMatchObject([{ name: 'TypeError', message: expect.stringContaining('principal()') }])
})

test('the OpenAPI document has the scheme', async () => {
  const { components } = Object((await send(world.url, 'GET /api/openapi.json')).json())
  expect(components.securitySchemes.bearer).toEqual({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' })
})

test.each<[reason: string, token: () => string]>([
  ['the header has no token, or one that is too long', () => '?'],
  ['the token has expired', () => tokenOf({ exp: 1 })],
  ['the claim "exp" of the token is missing or has another value', () => tokenOf({ exp: undefined })],
  ['the claim "iss" of the token is missing or has another value', () => tokenOf({ iss: 'x' })],
  ['the claim "aud" of the token is missing or has another value', () => tokenOf({ aud: 'x' })],
  ['the claim "nbf" of the token is missing or has another value', () => tokenOf({ nbf: now() + 60 })],
  ['the key of the token is unknown', () => tokenOf({}, { kid: 'x' })],
  ['the token is malformed, or uses an extension that is not supported', () => 'a.b.c'],
  ['the signature of the token is wrong', () => signToken({ alg: 'ES256' }, claimsOf(), attacker.privateKey)],
  ['the algorithm of the token is not permitted', () => signToken({ alg: 'none' }, claimsOf(), undefined)],
  ['no user has the value of the claim "sub"', () => tokenOf({ sub: 'x' })],
  ['the claim "sub" of the token is neither a text nor an integer', () => tokenOf({ sub: {} })],
  ['the user is not active', () => tokenOf({ sub: 'carl@example.org' })],
])('the reason in the refusal event is that %s', async (reason, token) => {
  const events: RefusalEvent[] = []
  const add = (event: unknown): void => void events.push(event as RefusalEvent)
  subscribe('typeorm-resources:refusal', add)
  await listWith(`Bearer ${token()}`)
  unsubscribe('typeorm-resources:refusal', add)
  expect(events).toMatchObject([{ status: 401, code: 'unauthorized', reason }])
})
