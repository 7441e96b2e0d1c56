import { Agent } from 'node:http'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import {
  ApiKeys,
  adminRule,
  apiKeys,
  basic as basicAuthenticator,
  bearer,
  createApiKey,
  type MountOptions,
  type ResourceRegistration,
  type Rule,
  readOnlyRule,
  UserAccount,
  userRule,
} from 'typeorm-resources'
import { basic, type Reply, send } from './client'
import { audience, claimsOf, issuer, signToken } from './support/tokens'
import { canaries } from './world/seed'
import { openWorld, type World } from './world/world'

/**
 * The access matrix: every combination of rule, principal, method and form of URL, for each scheme of credentials. The expected responses are computed here from tables
 * that are copied from the specification (Paths, Order of checks, Methods, Access), without any code of `src`.
 */

type Who = 'nobody' | 'admins' | 'users' | 'everybody'

/** Who a rule permits: for GET, HEAD and OPTIONS, and for every other method. */
interface Expected {
  readonly reads: Who
  readonly others: Who
  /** Whether only the owner may change a record. */
  readonly owned?: true
}

interface RuleCase extends Expected {
  readonly title: string
  readonly name: string
  readonly options: Pick<ResourceRegistration, 'auth' | 'ownerField'>
}

/** The opposite of a usual rule, so that it differs from all built-in rules: users may write, only administrators may read. */
const custom: Rule = async ({ reads, authenticate }) => {
  const principal = await authenticate()
  return reads && !principal?.admin ? null : principal
}

const publicUsers = userRule({ read: 'public' })
const publicAdmins = adminRule({ read: 'public' })
const rules: readonly RuleCase[] = [
  { title: 'Read-only rule: without a rule', name: 'plain', options: {}, reads: 'everybody', others: 'nobody' },
  {
    title: 'Read-only rule',
    name: 'fixed',
    options: { auth: readOnlyRule() },
    reads: 'everybody',
    others: 'nobody',
  },
  { title: 'User rule', name: 'member', options: { auth: userRule() }, reads: 'users', others: 'users' },
  {
    title: 'User rule: user rule, public reading',
    name: 'article',
    options: { auth: publicUsers },
    reads: 'everybody',
    others: 'users',
  },
  { title: 'Admin rule', name: 'ledger', options: { auth: adminRule() }, reads: 'admins', others: 'admins' },
  {
    title: 'User rule: admin rule, public reading',
    name: 'notice',
    options: { auth: publicAdmins },
    reads: 'everybody',
    others: 'admins',
  },
  {
    title: 'Owners',
    name: 'diary',
    options: { ownerField: 'owner' },
    reads: 'users',
    others: 'users',
    owned: true,
  },
  {
    title: 'Owners: public reading',
    name: 'blog',
    options: { ownerField: 'owner', auth: publicUsers },
    reads: 'everybody',
    others: 'users',
    owned: true,
  },
  { title: 'a rule of the application', name: 'drop', options: { auth: custom }, reads: 'admins', others: 'users' },
]

type Rank = 'anonymous' | 'user' | 'admin'

interface Principal {
  readonly title: string
  readonly rank: Rank
  readonly owns?: true
  /** Value of the header `Authorization`. That of an API key is known when the key has been created. */
  readonly authorization?: string | (() => string)
}

const passwordPrincipals: readonly Principal[] = [
  { title: 'an anonymous client', rank: 'anonymous' },
  { title: 'an administrator with a wrong password', rank: 'anonymous', authorization: basic('admin', 'owner') },
  { title: 'an unknown user', rank: 'anonymous', authorization: basic('unknown') },
  { title: 'an inactive user', rank: 'anonymous', authorization: basic('inactive') },
  { title: 'a user without password', rank: 'anonymous', authorization: basic('passwordless', 'null') },
  { title: 'a malformed header', rank: 'anonymous', authorization: 'Basic !!!' },
  { title: 'the owner', rank: 'user', owns: true, authorization: basic('owner') },
  { title: 'another user', rank: 'user', authorization: basic('other') },
  { title: 'an administrator', rank: 'admin', authorization: basic('admin') },
]

const secret = 'a secret of the matrix that has more than 32 bytes'
const tokenOf = (id: number, claims: object = {}): string =>
  `Bearer ${signToken({ alg: 'HS256' }, claimsOf({ sub: String(id), ...claims }), secret)}`

const tokenPrincipals: readonly Principal[] = [
  { title: 'an expired token of an administrator', rank: 'anonymous', authorization: tokenOf(3, { exp: 1 }) },
  { title: 'a token of an unknown user', rank: 'anonymous', authorization: tokenOf(99) },
  { title: 'a token of an inactive user', rank: 'anonymous', authorization: tokenOf(4) },
  { title: 'a malformed token', rank: 'anonymous', authorization: 'Bearer !!!' },
  { title: 'a token of the owner', rank: 'user', owns: true, authorization: tokenOf(1) },
  { title: 'a token of another user', rank: 'user', authorization: tokenOf(2) },
  { title: 'a token of an administrator', rank: 'admin', authorization: tokenOf(3) },
  { title: 'a token of an administrator without password', rank: 'admin', authorization: tokenOf(5) },
]

/** API keys by the title of the principal. */
const keys = new Map<string, string>()
/** Users of the API keys, and the permissions of the key. */
const keyUsers = {
  'a key of an administrator that permits nothing': { id: 3, permissions: {} },
  'a key of an inactive user': { id: 4 },
  'a key of the owner': { id: 1 },
  'a key of another user': { id: 2 },
  'a key of an administrator': { id: 3 },
} as const
const keyOf = (title: keyof typeof keyUsers) => ({ title, authorization: () => `ApiKey ${keys.get(title)}` })

const keyPrincipals: readonly Principal[] = [
  { ...keyOf('a key of an administrator that permits nothing'), rank: 'anonymous' },
  { ...keyOf('a key of an inactive user'), rank: 'anonymous' },
  {
    title: 'a key with another secret',
    rank: 'anonymous',
    authorization: () => `ApiKey ${keys.get('a key of an administrator')?.replace(/.{4}$/, 'aaaa')}`,
  },
  { title: 'a malformed key', rank: 'anonymous', authorization: 'ApiKey !!!' },
  { ...keyOf('a key of the owner'), rank: 'user', owns: true },
  { ...keyOf('a key of another user'), rank: 'user' },
  { ...keyOf('a key of an administrator'), rank: 'admin' },
]

const admitted: Readonly<Record<Who, readonly Rank[]>> = {
  nobody: [],
  admins: ['admin'],
  users: ['user', 'admin'],
  everybody: ['anonymous', 'user', 'admin'],
}

/** Kinds of paths (specification: Paths): a collection, an existing record, a missing record, or no path of the service. */
type Target = 'collection' | 'record' | 'no record' | 'outside'

const paths: readonly (readonly [Target, (name: string) => string])[] = [
  ['collection', (name) => `/api/${name}/`],
  ['collection', (name) => `/api/${name}`],
  ['record', (name) => `/api/${name}/1/`],
  ['record', (name) => `/api/${name}/1`],
  ['no record', (name) => `/api/${name}/999/`],
  ['no record', (name) => `/api/${name}/1abc/`],
  ['no record', (name) => `/api/${name}/1.0`],
  ['no record', (name) => `/api/${name}/%31/`],
  ['outside', (name) => `//api/${name}/`],
  ['outside', (name) => `/api//${name}/1/`],
  ['outside', (name) => `/API/${name}/`],
  ['outside', (name) => `/api/${name.toUpperCase()}/1/`],
  ['outside', (name) => `/api/${encodeFirst(name)}/`],
  ['outside', (name) => `/api/${encodeFirst(name)}/1/`],
  ['outside', (name) => `/api/x/../${name}/1/`],
  ['outside', (name) => `/api/${name}//`],
  ['outside', (name) => `/api/${name}/1/2/`],
  ['outside', (name) => `/api/${name}s/1/`],
]

function encodeFirst(name: string): string {
  return `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`
}

/** Methods that Node's HTTP server accepts: those of the service, safe ones that it does not have, and extensions. */
const methods = [
  'GET',
  'HEAD',
  'OPTIONS',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'MKCOL',
  'PURGE',
  'M-SEARCH',
]
const reading: readonly string[] = ['GET', 'HEAD', 'OPTIONS']
const bodied: readonly string[] = ['POST', 'PUT', 'PATCH']

/** The methods (specification: Methods, Results of writes) and the status of their success. */
const successes: Readonly<Record<Exclude<Target, 'outside'>, Readonly<Record<string, number>>>> = {
  collection: { GET: 200, HEAD: 200, OPTIONS: 204, POST: 201 },
  record: { GET: 200, HEAD: 200, OPTIONS: 204, PUT: 200, PATCH: 200, DELETE: 204 },
  // OPTIONS refers to the path, not to the record.
  'no record': { GET: 404, HEAD: 404, OPTIONS: 204, PUT: 404, PATCH: 404, DELETE: 404 },
}

/** Expected status, in the order of checks: path of the service, rule, method, record, owner. */
function expectedStatus(rule: Expected, { rank, owns }: Principal, method: string, target: Target): number {
  if (target === 'outside') return 404
  const reads = reading.includes(method)
  if (!admitted[reads ? rule.reads : rule.others].includes(rank)) return 401
  const success = successes[target][method]
  if (success === undefined) return 405
  if (target === 'record' && !reads && rule.owned && !owns) return 403
  return success
}

function allowedMethods(rule: Expected, target: Exclude<Target, 'outside'>): readonly string[] {
  return Object.keys(successes[target]).filter((method) => rule.others !== 'nobody' || reading.includes(method))
}

@Entity()
@UserAccount({
  // Verifies without argon2, to save time; the stored value looks like an argon2 hash, for the search for hidden values.
  hash: (plain) => `$argon2$${plain}`,
  verify: (plain, stored) => stored === `$argon2$${plain}`,
})
class Account {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column({ type: 'varchar', nullable: true }) password!: string | null
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
}

@Entity()
@ApiKeys()
class ApiKey {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) prefix!: string
  @Column() hash!: string
  @Column({ type: 'simple-json', nullable: true }) permissions!: object | null
  @ManyToOne(() => Account, { nullable: false }) user!: Account
}

const accounts = [
  { id: 1, username: 'owner', password: '$argon2$owner' },
  { id: 2, username: 'other', password: '$argon2$other' },
  { id: 3, username: 'admin', password: '$argon2$admin', admin: true },
  // Their credentials are right, but the accounts are inactive or have no password.
  { id: 4, username: 'inactive', password: '$argon2$inactive', admin: true, active: false },
  { id: 5, username: 'passwordless', password: null, admin: true },
]
const rows = [
  { id: 1, text: 'one', secret: canaries[0], owner: { id: 1 } },
  { id: 2, text: 'two', secret: canaries[1], owner: { id: 3 } },
]

/** Declares an entity for each rule, so that no row is subject to two rules. */
function entityOf(name: string): new () => object {
  @Entity(name)
  class Item {
    @PrimaryGeneratedColumn() id!: number
    @Column() text!: string
    @Column({ type: 'varchar', nullable: true }) secret!: string | null
    @ManyToOne(() => Account, { nullable: true }) owner!: Account | null
  }
  return Item
}
const entities = new Map(rules.map(({ name }) => [name, entityOf(name)]))

const openMatrix = (mount: MountOptions = {}): Promise<World> =>
  openWorld({
    entities: [Account, ApiKey, ...entities.values()],
    seed: async (dataSource) => {
      await dataSource.getRepository(Account).insert(accounts)
      for (const entity of entities.values()) await dataSource.getRepository(entity).insert(rows)
    },
    mount: {
      ...mount,
      resources: rules.map(({ name, options }) => ({ entity: name, name, exclude: ['secret'], ...options })),
    },
  })

/** The mount with HTTP Basic alone, and the one with all authenticators. */
let worlds: readonly [World, World]
const agent = new Agent({ keepAlive: true, maxSockets: 16 })
beforeAll(async () => {
  const tokens = bearer({ secret, issuer, audience, algorithms: ['HS256'], user: { claim: 'sub', property: 'id' } })
  worlds = [await openMatrix(), await openMatrix({ authenticators: [basicAuthenticator(), tokens, apiKeys()] })]
  for (const [title, { id, ...values }] of Object.entries(keyUsers)) {
    keys.set(title, await createApiKey(worlds[1].dataSource, ApiKey, { user: { id }, ...values }))
  }
})
afterAll(async () => {
  agent.destroy()
  for (const world of worlds) {
    await world.close()
    expect(world.faults).toEqual([])
  }
})

interface Case {
  readonly line: string
  readonly method: string
  readonly target: Target
  readonly status: number
}

const casesOf = (rule: RuleCase, principal: Principal): readonly Case[] =>
  methods.flatMap((method) =>
    paths.map(([target, path]) => ({
      line: `${method} ${path(rule.name)}`,
      method,
      target,
      status: expectedStatus(rule, principal, method, target),
    })),
  )

const sendCase = (world: World, { line, method }: Case, { authorization }: Principal): Promise<Reply> =>
  send(world.url, line, {
    agent,
    headers:
      authorization === undefined
        ? {}
        : { Authorization: typeof authorization === 'string' ? authorization : authorization() },
    body: bodied.includes(method) ? { text: 'changed' } : undefined,
  })

/** Differences between a response and the expected one. */
function faultsOf(rule: RuleCase, one: Case, reply: Reply): readonly string[] {
  const { status, text, headers } = reply
  const answer = text + JSON.stringify(headers)
  return [
    ...(status === one.status ? [] : [`${status}, not ${one.status}`]),
    ...canaries.filter((canary) => answer.includes(canary)).map((canary) => `shows ${canary}`),
    // A body after the headers of a HEAD response would be parsed as the next response of the connection, and be an error there.
    ...(one.method === 'HEAD' && text !== '' ? [`a body: ${text}`] : []),
    ...(one.target !== 'outside' && headers['x-content-type-options'] !== 'nosniff' ? ['no nosniff'] : []),
    ...(status === 401 ? loginFaults(one, reply) : []),
    ...(one.target !== 'outside' && hasAllow(one) ? allowFaults(rule, one.target, reply) : []),
    ...([403, 404, 405].includes(status) ? problemFaults(one, reply) : []),
  ]
}

/** Compared with the specification (Authentication, rule 1) byte for byte, except for the challenges of other schemes. */
function loginFaults({ method }: Case, { headers, text }: Reply): readonly string[] {
  const body = method === 'HEAD' ? '' : 'Authentication failed'
  const specified = ['Basic realm="Login Required"', 'text/html; charset=utf-8', body].join('\n')
  const [challenge] = String(headers['www-authenticate']).split(/, (?=Bearer)/)
  const seen = [challenge, headers['content-type'], text].join('\n')
  return seen === specified ? [] : [`another 401: ${seen}`]
}

function hasAllow({ method, status }: Case): boolean {
  return status === 405 || (method === 'OPTIONS' && status === 204)
}

function allowFaults(rule: RuleCase, target: Exclude<Target, 'outside'>, { headers }: Reply): readonly string[] {
  const allow = String(headers.allow).split(', ').toSorted().join()
  return allow === allowedMethods(rule, target).toSorted().join() ? [] : [`Allow: ${headers.allow}`]
}

/** Koa responds to paths outside of the service, all other refusals are problem documents (specification: Error documents). */
function problemFaults({ target }: Case, { headers, text }: Reply): readonly string[] {
  const type = String(headers['content-type'])
  const isProblem = type.startsWith('application/problem+json')
  return isProblem === (target !== 'outside') ? [] : [`${type}: ${text}`]
}

const stored = (world: World, name: string): Promise<unknown> =>
  world.sql(`SELECT "id", "text", "secret", "ownerId" FROM "${name}" ORDER BY "id"`)

async function restore(world: World, name: string): Promise<void> {
  const repository = world.dataSource.getRepository(name)
  await repository.createQueryBuilder().delete().execute()
  await repository.insert(rows)
}

const changes = ({ method, status }: Case): boolean => !reading.includes(method) && status < 300
const report = (rule: RuleCase, one: Case, reply: Reply): readonly string[] =>
  faultsOf(rule, one, reply).map((fault) => `${one.line}: ${fault}`)

const blocks = rules.flatMap((rule) =>
  [passwordPrincipals, [...tokenPrincipals, ...keyPrincipals]].flatMap((principals, worldIndex) =>
    principals.map((principal) => ({ title: `${rule.title}: ${principal.title}`, rule, principal, worldIndex })),
  ),
)

test('the matrix has at least 9,000 cases', () => {
  const all = blocks.flatMap(({ rule, principal }) => casesOf(rule, principal))
  expect(all.length).toBeGreaterThanOrEqual(9000)
  const statuses = [...new Set(all.map(({ status }) => status))]
  expect(statuses.toSorted()).toEqual([200, 201, 204, 401, 403, 404, 405])
})

test.each(blocks)('$title', async ({ rule, principal, worldIndex }) => {
  const world = worlds[worldIndex] as World
  const cases = casesOf(rule, principal)
  const before = await stored(world, rule.name)
  const unchanging = cases.filter((one) => !changes(one))
  const replies = await Promise.all(
    unchanging.map(async (one) => report(rule, one, await sendCase(world, one, principal))),
  )
  const wrong = replies.flat()
  // Neither refused requests nor reads have changed anything.
  expect({ wrong, rows: await stored(world, rule.name) }).toEqual({ wrong: [], rows: before })
  for (const one of cases.filter(changes)) {
    wrong.push(...report(rule, one, await sendCase(world, one, principal)))
    if (JSON.stringify(await stored(world, rule.name)) === JSON.stringify(before))
      wrong.push(`${one.line}: changed nothing`)
    await restore(world, rule.name)
  }
  expect(wrong).toEqual([])
})
