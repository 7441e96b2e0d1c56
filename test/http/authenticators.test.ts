import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { request } from 'node:http'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { basic, custom, type RefusalEvent, Resource, readOnlyRule, userRule } from 'typeorm-resources'
import { basic as authorization, send } from '../client'
import { openWorld, type World } from '../world/world'

/** Sessions of the application: those that it knows have a user. */
const sessions = new Map([['s-1', { id: 1, token: 'canary-0a1b' }]])

@Entity()
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

@Entity()
@Resource({ auth: userRule(), ownerField: 'member' })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Member, { nullable: false }) member!: Member
}

@Entity()
@Resource({ auth: readOnlyRule() })
class Notice {
  @PrimaryGeneratedColumn() id!: number
}

const sessionScheme = custom({
  scheme: 'Session',
  challenge: 'Session realm="members"',
  authenticate: (credentials, { path }) => (path === '/none' ? undefined : sessions.get(credentials)),
})

describe('authenticators of a mount', () => {
  let world: World
  beforeAll(async () => {
    const seed: NonNullable<Parameters<typeof openWorld>[0]>['seed'] = async (dataSource) => {
      await dataSource.getRepository(Member).save([{ name: 'Ann' }, { name: 'Bob' }])
    }
    const mount = { authenticators: [basic(), sessionScheme] }
    world = await openWorld({ entities: [Member, Entry, Notice], mount, seed })
  })
  afterAll(() => world.close())

  test.each([
    ['the scheme of the custom authenticator', 'Session s-1', 200],
    ['a scheme in other letters', 'sEsSiOn s-1', 200],
    ['spaces around the credentials', 'Session   s-1 ', 200],
    ['unknown credentials', 'Session s-2', 401],
    ['no credentials', 'Session', 401],
    ['a scheme that is not configured', 'Bearer s-1', 401],
    ['two schemes in one header', 'Session s-1, Basic YTpi', 401],
    ['credentials without a scheme', 's-1', 401],
    ['a name and a password, without a user entity', authorization('ann', 'secret'), 401],
  ])('%s', async (_, header, status) => {
    const reply = await send(world.url, 'GET /api/entry/', { headers: { Authorization: header } })
    expect(reply.status).toBe(status)
  })

  test('the session returns the principal of every scheme, without its further properties', async () => {
    const session = (header: string) => send(world.url, 'GET /api/-/session', { headers: { Authorization: header } })
    expect((await session('Session s-1')).json()).toEqual({ id: 1, admin: false })
    expect(await session('Session s-2')).toMatchObject({ status: 401, text: 'Authentication failed' })
  })

  test('the principal owns what it creates', async () => {
    const headers = { Authorization: 'Session s-1' }
    const reply = await send(world.url, 'POST /api/entry/', { headers, body: { text: 'x', member_id: 2 } })
    expect(reply.json()).toMatchObject({ text: 'x', member_id: 1 })
  })

  test('a request with two Authorization headers is refused', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const { hostname, port } = new URL(world.url)
      const headers = ['Host', hostname, 'Authorization', 'Session s-1', 'Authorization', 'Session s-1']
      request({ hostname, port, path: '/api/entry/', headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(401)
  })

  test('a response with status 401 has one line for each scheme, in their order', async () => {
    const response = await fetch(`${world.url}/api/entry/`)
    expect(response.headers.get('WWW-Authenticate')).toBe('Basic realm="Login Required", Session realm="members"')
    expect(await response.text()).toBe('Authentication failed')
  })

  test('the OpenAPI document has all schemes, and each operation accepts one of them', async () => {
    const { components, paths } = Object((await send(world.url, 'GET /api/openapi.json')).json())
    expect(components.securitySchemes).toEqual({
      basic: { type: 'http', scheme: 'basic' },
      session: { type: 'http', scheme: 'session' },
    })
    expect(paths['/entry'].get.security).toEqual([{ basic: [] }, { session: [] }])
    expect(paths['/notice'].get.security).toEqual([])
  })

  test.each<[rule: string, path: string, init: RequestInit, reason: string]>([
    ['no credentials', 'entry/', {}, 'the request has no credentials'],
    [
      'another scheme, whose name may be a secret without its scheme',
      'entry/',
      { headers: { Authorization: 'canary-token' } },
      'the scheme of the credentials is not configured; configured: Basic, Session',
    ],
    [
      'rejected credentials',
      'entry/',
      { headers: { Authorization: 'Session canary' } },
      'authenticate() of the scheme Session has rejected the credentials',
    ],
    ['a write of a read-only resource', 'notice/', { method: 'POST' }, 'the rule "read-only" permits no writes'],
  ])('the refusal event of %s has the reason', async (_, path, init, reason) => {
    const events: RefusalEvent[] = []
    const add = (event: unknown): void => void events.push(event as RefusalEvent)
    subscribe('typeorm-resources:refusal', add)
    const response = await fetch(`${world.url}/api/${path}`, init)
    unsubscribe('typeorm-resources:refusal', add)
    expect(response.status).toBe(401)
    expect(events).toMatchObject([{ status: 401, code: 'unauthorized', reason }])
    expect(await response.text()).toBe('Authentication failed')
  })
})

describe('reasons for the refusal of a name and a password', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld()
    await world.sql(`UPDATE "user" SET "password" = 'plain' WHERE "username" = 'bob'`)
  })
  afterAll(() => world.close())

  test.each([
    ['ann', 'wrong', 'the password is wrong'],
    ['nobody', 'wrong', 'there is no user with this name'],
    ['', 'wrong', 'the user name or the password is empty'],
    ['carl', 'wrong', 'the user is not active'],
    ['dora', 'wrong', 'the user has no password'],
    [
      'bob',
      'wrong',
      'the password is wrong, and the stored one does not look like a hash; store the result of hashPassword()',
    ],
  ])('%s with the password "%s"', async (name, password, reason) => {
    const events: RefusalEvent[] = []
    const add = (event: unknown): void => void events.push(event as RefusalEvent)
    subscribe('typeorm-resources:refusal', add)
    const headers = { Authorization: authorization(name, password) }
    const reply = await send(world.url, 'GET /api/message/', { headers })
    unsubscribe('typeorm-resources:refusal', add)
    expect(reply.status).toBe(401)
    expect(events).toMatchObject([{ reason }])
  })
})

test.each<[string, object, string]>([
  [
    'an unknown option',
    { scheme: 'X', authenticate: (): null => null, realm: 'x' },
    'custom() has an unknown option "realm"; options: scheme, authenticate, challenge, securityScheme',
  ],
  [
    'a scheme with a space',
    { scheme: 'My X', authenticate: (): null => null },
    'custom() needs a "scheme" without spaces, such as "Session"',
  ],
  ...['X\r\nSet-Cookie: a=b', 'X realm="é"', ''].map((challenge): [string, object, string] => [
    `the challenge ${JSON.stringify(challenge)}`,
    { scheme: 'X', authenticate: (): null => null, challenge },
    '"challenge" of custom() must be ASCII text that begins with a scheme: Session realm="API"',
  ]),
  [
    'an undefined scheme',
    { scheme: undefined, authenticate: (): null => null },
    'custom(): "scheme" is undefined; check for a missing environment variable or a circular import',
  ],
  [
    'an undefined function',
    { scheme: 'X', authenticate: undefined },
    'custom(): "authenticate" is undefined; check for a missing environment variable or a circular import',
  ],
  ['no options', undefined as never, 'custom() needs a "scheme" without spaces, such as "Session"'],
  ['no function', { scheme: 'X' }, 'custom() needs a function "authenticate" that returns the principal or null'],
])('custom() reports %s', (_, options, message) => {
  expect(() => custom(options as Parameters<typeof custom>[0])).toThrow(new TypeError(message))
})
